#include "traces/string_table.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "traces/nsys_tables.h"
#include "traces/schema.h"

namespace lanescope {

StringTable::StringTable(Database& database)
    : database_(&database),
      insert_(database, InsertSql(tables::kStringIds, {&tables::kStringIds.value.index, 1}, 1)) {
  Reload();
}

int64_t StringTable::Intern(std::string_view text) {
  const auto found = ids_.find(text);
  if (found != ids_.end()) return found->second;
  insert_.BindText(1, text);
  insert_.Run();
  const int64_t id = sqlite3_last_insert_rowid(database_->handle());
  ids_.emplace(text, id);
  return id;
}

void StringTable::Reload() {
  using tables::kStringIds;
  ids_.clear();
  Statement select(*database_, fmt::format("SELECT {}, {} FROM {}", kStringIds[kStringIds.id].name,
                                           kStringIds[kStringIds.value].name, kStringIds.sql_name()));
  while (select.Step()) ids_.emplace(select.Text(1), select.Integer(0));
}

}  // namespace lanescope
