// SPDX-License-Identifier: Apache-2.0
// Rows on their way into a table, several per statement: one execution of a 16-row INSERT costs about half of
// sixteen executions of a 1-row INSERT. Private to traces/; owned by the thread that owns the database.
// Internal to traces.
#pragma once

#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/store/sqlite.h"
#include "traces/store/table.h"

namespace lanescope::traces {

// A value of a row. Text is not copied: it must live until the rows are flushed.
struct Cell {
  enum class Kind : uint8_t { kNull, kInteger, kReal, kText };
  Cell() = default;
  Cell(std::integral auto value)  // NOLINT: rows read as literals
      : kind(Kind::kInteger), integer(static_cast<int64_t>(value)) {}
  // Beyond the numbers of SQLite: the largest.
  Cell(uint64_t value)
      : kind(Kind::kInteger),
        integer(static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX))) {}  // NOLINT
  Cell(double value) : kind(Kind::kReal), real(value) {}                        // NOLINT
  Cell(std::string_view value)                                                  // NOLINT
      : kind(Kind::kText), text(value.data()), integer(static_cast<int64_t>(value.size())) {}
  Cell(const std::string& value) : Cell(std::string_view(value)) {}  // NOLINT
  Cell(std::string&&) = delete;
  Cell(const char* value) : Cell(std::string_view(value)) {}  // NOLINT

  Kind kind = Kind::kNull;
  uint8_t column = 0;
  union {
    const char* text = nullptr;
    double real;
  };
  int64_t integer = 0;
};

// A column of T and what it is set to.
template <typename T>
struct Setting {
  Setting(typename TableOf<T>::Any column, Cell value) : cell(value) { cell.column = column.index; }
  Cell cell;
};

// The part of an inserter that does not depend on its table.
class PendingRows {
 public:
  PendingRows(Database& database, const Table& table) : database_(&database), table_(&table) {}
  // Executes what is pending.
  void Flush();

 protected:
  void Push(const Cell& cell) { pending_.push_back(cell); }
  // After the cells of a row.
  void EndRow();

 private:
  static constexpr size_t kRowsPerStatement = 16;
  void LearnColumns();
  void Execute(Statement& statement, const Cell* cells, size_t count);

  Database* database_;
  const Table* table_;
  std::vector<uint8_t> columns_;  // that rows set: those of the first row
  std::optional<Statement> many_, one_;
  std::vector<Cell> pending_;
};

// Every row sets the columns that the first one sets, in the same order; the schema fills the others.
template <typename T>
class RowInserter : public PendingRows {
 public:
  RowInserter(Database& database, const T& table) : PendingRows(database, table) {}
  void Add(std::initializer_list<Setting<T>> row) {
    for (const Setting<T>& setting : row) Push(setting.cell);
    EndRow();
  }
};

// One row, now.
template <typename T>
void InsertRow(Database& database, const T& table, std::initializer_list<Setting<T>> row) {
  RowInserter<T> inserter(database, table);
  inserter.Add(row);
  inserter.Flush();
}

void UpdateRows(Database& database, const Table& table, const std::vector<Cell>& values,
                const std::vector<Cell>& keys);

// Sets `values` in the rows whose columns `keys` hold what is said; no keys: in all.
template <typename T>
void UpdateRows(Database& database, const T& table, std::initializer_list<Setting<T>> values,
                std::initializer_list<Setting<T>> keys) {
  const auto cells = [](std::initializer_list<Setting<T>> settings) {
    std::vector<Cell> list;
    for (const Setting<T>& setting : settings) list.push_back(setting.cell);
    return list;
  };
  UpdateRows(database, static_cast<const Table&>(table), cells(values), cells(keys));
}

}  // namespace lanescope::traces
