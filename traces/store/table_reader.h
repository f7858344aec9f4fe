// SPDX-License-Identifier: Apache-2.0
// Reading tables whose columns may be missing, be in another order, or hold anything: a pass over a table
// that hands every row to C++. Internal to traces.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/store/sqlite.h"
#include "traces/store/table.h"

struct sqlite3_context;
struct sqlite3_value;

namespace lanescope::traces {

// Times are ns since the start of a session or, in exports with normalized times, since 1970. Beyond 146
// years from zero they are none; the difference of any two fits.
inline constexpr int64_t kMaxTime = (int64_t{1} << 62) - 1;

// A column of T that a reader wants; or not this time, when it reads as NULL and costs nothing.
template <typename T>
struct Wanted {
  Wanted(typename TableOf<T>::Any which, bool really = true)
      : column(which.index), wanted(really) {}  // NOLINT
  uint8_t column;
  bool wanted;
};

// The values of one row by column of its table. Valid while it is visited. Whatever does not fit throws
// DataLoss that names table and column.
class RowValues {
 public:
  bool IsNull(uint8_t column) const;
  std::optional<int64_t> Integer(uint8_t column) const;
  // NULL reads as `fallback`.
  int64_t Within(uint8_t column, int64_t low, int64_t high, int64_t fallback) const;
  // NULL reads as "".
  std::string_view Text(uint8_t column) const;

 private:
  friend class TablePass;
  static constexpr int8_t kNotAsked = -2, kAbsent = -1;

  sqlite3_value* Value(uint8_t column) const;
  [[noreturn]] void Fail(uint8_t column, std::string_view problem) const;

  const Database* database_ = nullptr;
  const Table* table_ = nullptr;
  std::array<int8_t, Table::kMaxColumns> slots_{};  // by column
  sqlite3_value** values_ = nullptr;
};

constexpr int NumberOfId(int64_t id) {
  if (id >= INT32_MIN && id <= UINT32_MAX) return static_cast<int>(static_cast<uint32_t>(id));
  // Fibonacci hashing: the low bits of a handle that is a pointer are alike.
  const uint64_t mixed = static_cast<uint64_t>(id) * 0x9e3779b97f4a7c15;
  return static_cast<int>(mixed >> 33);
}

// A row of T: columns read as what they hold.
template <typename T>
class RowOf {
 public:
  explicit RowOf(const RowValues& values) : values_(values) {}

  std::optional<int64_t> operator[](typename TableOf<T>::Integer column) const {
    return values_.Integer(column.index);
  }
  // Empty for what is no time.
  std::optional<int64_t> operator[](typename TableOf<T>::Time column) const {
    const std::optional<int64_t> time = values_.Integer(column.index);
    return time && *time >= -kMaxTime && *time <= kMaxTime ? time : std::nullopt;
  }
  int64_t operator[](typename TableOf<T>::Size column) const {
    return values_.Within(column.index, 0, kMaxSize, 0);
  }
  // -1 for NULL.
  int operator[](typename TableOf<T>::Number column) const {
    return static_cast<int>(values_.Within(column.index, -1, INT32_MAX - 1, -1));
  }
  // Handles of 64 bits get numbers of their own: the same for the same handle, and others for others as good
  // as always.
  int operator[](typename TableOf<T>::Id column) const {
    return NumberOfId(values_.Integer(column.index).value_or(0));
  }
  bool operator[](typename TableOf<T>::Flag column) const {
    return values_.Integer(column.index).value_or(0) != 0;
  }
  std::string_view operator[](typename TableOf<T>::Text column) const { return values_.Text(column.index); }
  bool IsNull(typename TableOf<T>::Any column) const { return values_.IsNull(column.index); }

 private:
  static constexpr int64_t kMaxSize = int64_t{1} << 60;
  const RowValues& values_;
};

// Runs as an aggregate function of SQL that takes a row and yields nothing: twice as fast as stepping through
// a statement row by row. Belongs to the thread of its connection.
class TablePass {
 public:
  using Visit = std::function<void(const RowValues&)>;
  TablePass(Database& database, const Table& table) : database_(database), table_(table) {}
  void Want(uint8_t column, bool wanted) { wanted_.emplace_back(column, wanted); }
  // `visit` may throw, which ends the pass and comes out here. `where`: a WHERE clause. A table that the file
  // does not have has no rows; one without a column that it always has throws DataLoss.
  void Run(const std::string& where, Visit visit);

 private:
  struct State;
  static void Step(sqlite3_context* context, int count, sqlite3_value** values);
  std::string ColumnList(RowValues* row);

  Database& database_;
  const Table& table_;
  std::vector<std::pair<uint8_t, bool>> wanted_;
};

// "runId" = 7.
std::string EqualSql(const Table& table, uint8_t column, int64_t value);

// Calls `visit(RowOf<T>)` for every row, in the order of the file.
template <typename T, typename Columns, typename Visit>
void ReadRowsOf(Database& database, const T& table, const Columns& columns, const std::string& where,
                Visit visit) {
  TablePass pass(database, table);
  for (const Wanted<T>& column : columns) pass.Want(column.column, column.wanted);
  pass.Run(where, [&](const RowValues& values) { visit(RowOf<T>(values)); });
}
template <typename T, typename Visit>
void ReadRows(Database& database, const T& table,
              std::initializer_list<Wanted<std::type_identity_t<T>>> columns, Visit visit) {
  ReadRowsOf(database, table, columns, {}, visit);
}
// The rows of one run.
template <typename T, typename Visit>
void ReadRunRows(Database& database, const T& table, int run,
                 std::initializer_list<Wanted<std::type_identity_t<T>>> columns, Visit visit) {
  ReadRowsOf(database, table, columns, "WHERE " + EqualSql(table, table.run.index, run), visit);
}

// WHERE clauses that cut a table into up to `parts` stretches of about equal size, in the order of the file,
// for several connections; one clause where the table has no row numbers, or is too small for more. Rows that
// are appended later are in none of several.
std::vector<std::string> RowRanges(Database& database, const Table& table, size_t parts);

}  // namespace lanescope::traces
