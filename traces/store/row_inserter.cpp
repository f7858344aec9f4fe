// SPDX-License-Identifier: Apache-2.0
#include "traces/store/row_inserter.h"

#include <sqlite3.h>

#include "core/base/error.h"
#include "traces/store/schema.h"

namespace lanescope::traces {
namespace {

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

void PendingRows::LearnColumns() {
  // After an error nothing is pending.
  const std::vector<Cell> row = std::exchange(pending_, {});
  std::vector<uint8_t> columns;
  for (const Cell& cell : row) {
    LANESCOPE_CHECK(std::find(columns.begin(), columns.end(), cell.column) == columns.end());
    columns.push_back(cell.column);
  }
  many_.emplace(*database_, InsertSql(*table_, columns, kRowsPerStatement));
  one_.emplace(*database_, InsertSql(*table_, columns, 1));
  columns_ = std::move(columns);
  pending_.reserve(columns_.size() * kRowsPerStatement);
  pending_ = row;
}

void PendingRows::EndRow() {
  if (columns_.empty()) LearnColumns();
  const size_t width = columns_.size();
  LANESCOPE_CHECK(pending_.size() % width == 0);
  const Cell* row = pending_.data() + pending_.size() - width;
  for (size_t i = 0; i < width; ++i) LANESCOPE_CHECK(row[i].column == columns_[i]);
  if (pending_.size() < width * kRowsPerStatement) return;
  Execute(*many_, pending_.data(), pending_.size());
  pending_.clear();
}

void PendingRows::Flush() {
  // Rows leave the buffer before they execute: after an error nothing is inserted twice.
  std::vector<Cell> rows;
  rows.reserve(pending_.capacity());
  rows.swap(pending_);
  const size_t width = columns_.size();
  for (size_t i = 0; i < rows.size(); i += width) Execute(*one_, rows.data() + i, width);
  rows.clear();
  pending_.swap(rows);
}

void PendingRows::Execute(Statement& statement, const Cell* cells, size_t count) {
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

void UpdateRows(Database& database, const Table& table, const std::vector<Cell>& values,
                const std::vector<Cell>& keys) {
  std::vector<uint8_t> set, where;
  for (const Cell& cell : values) set.push_back(cell.column);
  for (const Cell& cell : keys) where.push_back(cell.column);
  Statement update(database, UpdateSql(table, set, where));
  int parameter = 0;
  for (const std::vector<Cell>* cells : {&values, &keys}) {
    for (const Cell& cell : *cells) {
      const int result = Bind(update.handle(), ++parameter, cell);
      if (result != SQLITE_OK) database.Fail(result, "write to");
    }
  }
  update.Run();
}

}  // namespace lanescope::traces
