// SPDX-License-Identifier: Apache-2.0
#include "traces/store/string_table.h"

#include <sqlite3.h>

#include "traces/store/nsys_tables.h"
#include "traces/store/schema.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {

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
  ids_.clear();
  for (auto& [id, text] : ReadTexts(*database_)) ids_.emplace(std::move(text), id);
}

std::unordered_map<int64_t, std::string> ReadTexts(Database& database) {
  using tables::kStringIds;
  std::unordered_map<int64_t, std::string> texts;
  ReadRows(database, kStringIds, {kStringIds.id, kStringIds.value},
           [&](const auto& row) { texts.emplace(row[kStringIds.id].value_or(0), row[kStringIds.value]); });
  return texts;
}

}  // namespace lanescope::traces
