#include "traces/row_function.h"

#include <sqlite3.h>

#include "core/error.h"

namespace lanescope {
namespace {

// With fewer rows than this, another thread is not worth its connection.
constexpr int64_t kRowsWorthAThread = 20'000;

bool HasRowNumbers(Database& database, std::string_view table) {
  Statement statement(database,
                      "SELECT 1 FROM pragma_table_list WHERE schema = 'main' AND name = ? AND wr = 0");
  statement.BindText(1, table);
  return statement.Step();
}

}  // namespace

void RowFunction::Run(Database& database, std::string_view table, std::span<const ScanColumn> columns,
                      const std::string& suffix) {
  const std::string path = database.path();
  path_ = &path;
  error_ = nullptr;
  const int result = sqlite3_create_function_v2(
      database.handle(), "lanescope_row", static_cast<int>(columns.size()), SQLITE_UTF8 | SQLITE_DIRECTONLY,
      this, nullptr, &RowFunction::Step, [](sqlite3_context* context) { sqlite3_result_null(context); },
      nullptr);
  if (result != SQLITE_OK) database.Fail(result, "access");
  try {
    Statement statement(database, fmt::format("SELECT lanescope_row({}) FROM main.\"{}\" {}",
                                              ColumnList(database, table, columns), table, suffix));
    statement.Run();
  } catch (...) {
    if (!error_) throw;
  }
  if (error_) std::rethrow_exception(error_);
}

void RowFunction::Step(sqlite3_context* context, int, sqlite3_value** values) {
  auto* self = static_cast<RowFunction*>(sqlite3_user_data(context));
  if (self->error_) return;
  try {
    self->Row(values);
  } catch (...) {
    self->error_ = std::current_exception();
    sqlite3_result_error(context, "stopped", -1);
  }
}

int64_t RowFunction::Integer(sqlite3_value* value, int64_t fallback) const {
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      return sqlite3_value_int64(value);
    case SQLITE_NULL:
      return fallback;
    default:
      Throw(Code::kDataLoss,
            "{}: an activity holds something that is no integer; the file is damaged or no trace", *path_);
  }
}

std::optional<int64_t> RowFunction::Maybe(sqlite3_value* value) const {
  if (sqlite3_value_type(value) == SQLITE_NULL) return std::nullopt;
  return Integer(value);
}

int64_t RowFunction::Bounded(sqlite3_value* value) const {
  const int64_t number = Integer(value);
  if (number < -kMaxMagnitude || number > kMaxMagnitude) {
    Throw(Code::kDataLoss, "{}: an activity holds {}, which is out of range; the file is damaged or no trace",
          *path_, number);
  }
  return number;
}

std::vector<std::string> RowRanges(Database& database, std::string_view table, size_t parts) {
  if (parts < 2 || !HasRowNumbers(database, table)) return {std::string()};
  // Each a look at one end of the table; together they would be a pass over it.
  const int64_t first = database.QueryInteger(fmt::format("SELECT MIN(rowid) FROM main.\"{}\"", table));
  const int64_t last = database.QueryInteger(fmt::format("SELECT MAX(rowid) FROM main.\"{}\"", table));
  if (first < 0 || last < first || last - first < kRowsWorthAThread) return {std::string()};
  const auto share = (last - first) / static_cast<int64_t>(parts);
  std::vector<std::string> ranges;
  for (size_t i = 0; i < parts; ++i) {
    const int64_t from = first + static_cast<int64_t>(i) * share;
    const int64_t to = i + 1 == parts ? last : from + share - 1;
    ranges.push_back(fmt::format("WHERE rowid BETWEEN {} AND {}", from, to));
  }
  return ranges;
}

}  // namespace lanescope
