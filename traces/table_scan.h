// Reading tables whose columns may be missing, be in another order, or hold anything. Private to traces/.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "traces/sqlite.h"

namespace lanescope {

// Sizes beyond this are no measurement: an exbibyte.
inline constexpr int64_t kMaxMagnitude = int64_t{1} << 60;
// Times are ns since the start of a session or, in exports with normalized times, since 1970. Beyond 146
// years from zero they are none; the difference of any two fits.
inline constexpr int64_t kMaxTime = (int64_t{1} << 62) - 1;
inline bool IsTime(const std::optional<int64_t>& time) {
  return time && *time >= -kMaxTime && *time <= kMaxTime;
}

inline int64_t AddSaturating(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

struct ScanColumn {
  std::string_view name;
  bool required = false;  // a table without it throws DataLoss; else it reads as NULL
};

// The columns in the given order, for a SELECT or a function; NULL for one that the table lacks.
std::string ColumnList(Database& database, std::string_view table, std::span<const ScanColumn> columns);

class TableScan {
 public:
  // `suffix`: a WHERE clause or the like.
  TableScan(Database& database, std::string_view table, std::initializer_list<ScanColumn> columns,
            std::string_view suffix = {})
      : table_(table),
        database_(&database),
        statement_(database, "SELECT " + ColumnList(database, table, {columns.begin(), columns.size()}) +
                                 " FROM main.\"" + table_ + "\" " + std::string(suffix)) {}

  bool Next() { return statement_.Step(); }
  // Throw DataLoss for what does not fit. NULL reads as `fallback`.
  int64_t Time(int column) const { return Within(column, -kMaxTime, kMaxTime, 0); }
  // Empty for NULL and for what is no time.
  std::optional<int64_t> MaybeTime(int column) const {
    const std::optional<int64_t> time = Maybe(column);
    return IsTime(time) ? time : std::nullopt;
  }
  int64_t Size(int column) const { return Within(column, 0, kMaxMagnitude, 0); }
  int Number(int column, int fallback) const {
    return static_cast<int>(
        Within(column, -1, std::numeric_limits<int32_t>::max() - 1, static_cast<int64_t>(fallback)));
  }
  // Device and stream numbers may be any 32-bit pattern in foreign files.
  int Id(int column) const {
    return static_cast<int>(static_cast<uint32_t>(
        Within(column, std::numeric_limits<int32_t>::min(), std::numeric_limits<uint32_t>::max(), 0)));
  }
  std::optional<int64_t> Maybe(int column) const {
    if (statement_.IsNull(column)) return std::nullopt;
    return statement_.Integer(column);
  }
  int64_t Integer(int column, int64_t fallback = 0) const { return statement_.Integer(column, fallback); }
  bool Flag(int column) const { return statement_.Integer(column) != 0; }
  std::string Text(int column) const { return std::string(statement_.Text(column)); }
  bool IsNull(int column) const { return statement_.IsNull(column); }

 private:
  int64_t Within(int column, int64_t low, int64_t high, int64_t fallback) const;

  std::string table_;
  Database* database_;
  Statement statement_;
};

}  // namespace lanescope
