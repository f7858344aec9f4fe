#include "traces/table_scan.h"

#include <sqlite3.h>

#include "core/error.h"

namespace lanescope {

std::string ColumnList(Database& database, std::string_view table, std::span<const ScanColumn> columns) {
  const std::vector<std::string> known = database.Columns(table);
  std::string list;
  for (const ScanColumn& column : columns) {
    if (!list.empty()) list += ", ";
    if (HasName(known, column.name)) {
      list += fmt::format("\"{}\"", column.name);
    } else if (column.required) {
      Throw(Code::kDataLoss, "{}: table {} has no column {}; the file is damaged or no trace",
            database.path(), table, column.name);
    } else {
      list += "NULL";
    }
  }
  return list;
}

int64_t TableScan::Within(int column, int64_t low, int64_t high, int64_t fallback) const {
  const int64_t value = statement_.Integer(column, fallback);
  if (value < low || value > high) {
    Throw(Code::kDataLoss, "{}: {}.{} holds {}, which is out of range; the file is damaged or no trace",
          database_->path(), table_, sqlite3_column_name(statement_.handle(), column), value);
  }
  return value;
}

}  // namespace lanescope
