// A pass over a table that hands every row to C++. Private to traces/.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/sqlite.h"
#include "traces/table_scan.h"

struct sqlite3_context;
struct sqlite3_value;

namespace lanescope {

// An aggregate function of SQL that takes a row and yields nothing: twice as fast as stepping through a
// statement row by row. Row may throw, which ends the pass and comes out of Run. Belongs to the thread of its
// connection.
class RowFunction {
 public:
  virtual ~RowFunction() = default;

  // `suffix`: a WHERE clause.
  void Run(Database& database, std::string_view table, std::span<const ScanColumn> columns,
           const std::string& suffix = {});

 protected:
  // `values[i]` belongs to column i.
  virtual void Row(sqlite3_value** values) = 0;

  // NULL reads as `fallback`. Throw DataLoss for what is no integer, and for no integer of a useful size.
  int64_t Integer(sqlite3_value* value, int64_t fallback = 0) const;
  std::optional<int64_t> Maybe(sqlite3_value* value) const;
  int64_t Bounded(sqlite3_value* value) const;

 private:
  static void Step(sqlite3_context* context, int count, sqlite3_value** values);

  const std::string* path_ = nullptr;
  std::exception_ptr error_;
};

// WHERE clauses that cut a table into up to `parts` stretches of about equal size, in the order of the file,
// for several connections; one clause where the table has no row numbers, or is too small for more. Rows that
// are appended later are in none of several.
std::vector<std::string> RowRanges(Database& database, std::string_view table, size_t parts);

}  // namespace lanescope
