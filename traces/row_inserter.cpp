#include "traces/row_inserter.h"

#include <sqlite3.h>

#include "core/error.h"

namespace lanescope {
namespace {

std::string Sql(std::string_view table, std::initializer_list<std::string_view> columns, size_t rows) {
  return InsertSql(FindTable(table), {columns.begin(), columns.size()}, static_cast<int>(rows));
}

int Bind(sqlite3_stmt* statement, int parameter, const Cell& cell) {
  switch (cell.kind) {
    case Cell::Kind::kInteger:
      return sqlite3_bind_int64(statement, parameter, cell.integer);
    case Cell::Kind::kReal:
      return sqlite3_bind_double(statement, parameter, cell.real);
    case Cell::Kind::kText:
      return sqlite3_bind_text64(statement, parameter, cell.text, static_cast<sqlite3_uint64>(cell.integer),
                                 SQLITE_STATIC, SQLITE_UTF8);
    case Cell::Kind::kNull:
      break;
  }
  return sqlite3_bind_null(statement, parameter);
}

}  // namespace

RowInserter::RowInserter(Database& database, std::string_view table,
                         std::initializer_list<std::string_view> columns)
    : database_(&database),
      columns_(columns.size()),
      many_(database, Sql(table, columns, kRowsPerStatement)),
      one_(database, Sql(table, columns, 1)) {
  pending_.reserve(columns_ * kRowsPerStatement);
}

void RowInserter::Add(std::initializer_list<Cell> row) {
  LANESCOPE_CHECK(row.size() == columns_);
  pending_.insert(pending_.end(), row.begin(), row.end());
  if (pending_.size() < columns_ * kRowsPerStatement) return;
  Execute(many_, pending_.data(), pending_.size());
  pending_.clear();
}

void RowInserter::Flush() {
  // Rows leave the buffer before they execute: after an error nothing is inserted twice.
  std::vector<Cell> rows;
  rows.reserve(pending_.capacity());
  rows.swap(pending_);
  for (size_t i = 0; i < rows.size(); i += columns_) Execute(one_, rows.data() + i, columns_);
  rows.clear();
  pending_.swap(rows);
}

void RowInserter::Execute(Statement& statement, const Cell* cells, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const int result = Bind(statement.handle(), static_cast<int>(i) + 1, cells[i]);
    if (result != SQLITE_OK) database_->Fail(result, "write to");
  }
  const int result = sqlite3_step(statement.handle());
  if (result != SQLITE_DONE) {
    // The message is gone after the reset.
    try {
      database_->Fail(result, "write to");
    } catch (...) {
      sqlite3_reset(statement.handle());
      throw;
    }
  }
  sqlite3_reset(statement.handle());
}

}  // namespace lanescope
