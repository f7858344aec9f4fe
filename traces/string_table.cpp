#include "traces/string_table.h"

#include <sqlite3.h>

namespace lanescope {

StringTable::StringTable(Database& database)
    : database_(&database), insert_(database, "INSERT INTO StringIds (value) VALUES (?)") {
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
  Statement select(*database_, "SELECT id, value FROM StringIds");
  while (select.Step()) ids_.emplace(select.Text(1), select.Integer(0));
}

}  // namespace lanescope
