// SPDX-License-Identifier: Apache-2.0
#include "traces/store/table_reader.h"

#include <sqlite3.h>

#include <exception>

#include "core/base/error.h"
#include "traces/store/schema.h"

namespace lanescope::traces {
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

void RowValues::Fail(uint8_t column, std::string_view problem) const {
  Throw(Code::kDataLoss, "{}: {}.{} holds {}; the file is damaged or no trace", database_->name(),
        table_->sql_name(), table_->columns()[column].name, problem);
}

// Null: the column reads as NULL.
sqlite3_value* RowValues::Value(uint8_t column) const {
  const int8_t slot = slots_[column];
  LANESCOPE_CHECK(slot != kNotAsked);
  return slot == kAbsent ? nullptr : values_[slot];
}

bool RowValues::IsNull(uint8_t column) const {
  sqlite3_value* value = Value(column);
  return value == nullptr || sqlite3_value_type(value) == SQLITE_NULL;
}

std::optional<int64_t> RowValues::Integer(uint8_t column) const {
  sqlite3_value* value = Value(column);
  if (value == nullptr) return std::nullopt;
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      return sqlite3_value_int64(value);
    case SQLITE_NULL:
      return std::nullopt;
    default:
      Fail(column, "something that is no integer");
  }
}

int64_t RowValues::Within(uint8_t column, int64_t low, int64_t high, int64_t fallback) const {
  const int64_t value = Integer(column).value_or(fallback);
  if (value < low || value > high) Fail(column, fmt::format("{}, which is out of range", value));
  return value;
}

std::string_view RowValues::Text(uint8_t column) const {
  sqlite3_value* value = Value(column);
  if (value == nullptr) return "";
  switch (sqlite3_value_type(value)) {
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
      if (text == nullptr)
        Throw(Code::kResourceExhausted, "out of memory while reading {}", database_->name());
      return {text, static_cast<size_t>(sqlite3_value_bytes(value))};
    }
    case SQLITE_NULL:
      return "";
    default:
      Fail(column, "something that is no text");
  }
}

// The wanted columns that the file has, for the function; `row` learns their places.
std::string TablePass::ColumnList(RowValues* row) {
  const std::vector<std::string> known = database_.Columns(table_.sql_name());
  row->slots_.fill(RowValues::kNotAsked);
  std::string list;
  int8_t slot = 0;
  for (const auto& [index, wanted] : wanted_) {
    const Column& column = table_.columns()[index];
    row->slots_[index] = RowValues::kAbsent;
    const bool here = HasName(known, column.name);
    if (!here && wanted && (column.need == Need::kAlways || column.need == Need::kPrimaryKey)) {
      Throw(Code::kDataLoss, "{}: table {} has no column {}; the file is damaged or no trace",
            database_.name(), table_.sql_name(), column.name);
    }
    if (!here || !wanted) continue;
    if (slot > 0) list += ", ";
    list += Quoted(column.name);
    row->slots_[index] = slot++;
  }
  return list;
}

struct TablePass::State {
  RowValues row;
  Visit visit;
  std::exception_ptr error;
};

void TablePass::Step(sqlite3_context* context, int, sqlite3_value** values) {
  auto* pass = static_cast<State*>(sqlite3_user_data(context));
  if (pass->error) return;
  try {
    pass->row.values_ = values;
    pass->visit(pass->row);
  } catch (...) {
    pass->error = std::current_exception();
    sqlite3_result_error(context, "stopped", -1);
  }
}

void TablePass::Run(const std::string& where, Visit visit) {
  if (!database_.HasTable(table_.sql_name())) return;
  State pass{{}, std::move(visit), nullptr};
  pass.row.database_ = &database_;
  pass.row.table_ = &table_;
  const std::string columns = ColumnList(&pass.row);
  constexpr const char* kName = "lanescope_row";
  const int result = sqlite3_create_function_v2(
      database_.handle(), kName, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, &pass, nullptr, &TablePass::Step,
      [](sqlite3_context* context) { sqlite3_result_null(context); }, nullptr);
  if (result != SQLITE_OK) database_.Fail(result, "access");
  try {
    Statement statement(database_, fmt::format("SELECT {}({}) FROM main.{} {}", kName, columns,
                                               Quoted(table_.sql_name()), where));
    statement.Run();
  } catch (...) {
    if (!pass.error) throw;
  }
  if (pass.error) std::rethrow_exception(pass.error);
}

std::string EqualSql(const Table& table, uint8_t column, int64_t value) {
  return fmt::format("{} = {}", Quoted(table.columns()[column].name), value);
}

std::vector<std::string> RowRanges(Database& database, const Table& table, size_t parts) {
  if (parts < 2 || !HasRowNumbers(database, table.sql_name())) return {std::string()};
  // Each a look at one end of the table; together they would be a pass over it.
  const auto end = [&](const char* which) {
    return database.QueryInteger(
        fmt::format("SELECT {}(rowid) FROM main.{}", which, Quoted(table.sql_name())));
  };
  const int64_t first = end("MIN"), last = end("MAX");
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

}  // namespace lanescope::traces
