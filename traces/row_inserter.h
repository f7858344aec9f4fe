// Rows on their way into a table, several per statement: one execution of a 16-row INSERT costs about half of
// sixteen executions of a 1-row INSERT. Private to traces/; owned by the thread that owns the database.
#pragma once

#include <array>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "traces/schema.h"
#include "traces/sqlite.h"

namespace lanescope {

// A value of a row. Text is not copied: it must live until the rows are flushed.
struct Cell {
  enum class Kind : uint8_t { kNull, kInteger, kReal, kText };
  Cell() = default;
  Cell(int64_t value) : kind(Kind::kInteger), integer(value) {}  // NOLINT: rows read as literals
  Cell(int value) : Cell(int64_t{value}) {}                      // NOLINT
  Cell(double value) : kind(Kind::kReal), real(value) {}         // NOLINT
  Cell(std::string_view value)
      : kind(Kind::kText), text(value.data()), integer(static_cast<int64_t>(value.size())) {}
  Cell(const char* value) : Cell(std::string_view(value)) {}  // NOLINT

  Kind kind = Kind::kNull;
  union {
    const char* text = nullptr;
    double real;
  };
  int64_t integer = 0;
};

class RowInserter {
 public:
  // The columns that rows set, in that order; the schema fills the others.
  RowInserter(Database& database, std::string_view table, std::initializer_list<std::string_view> columns);
  // As many cells as columns.
  void Add(std::initializer_list<Cell> row);
  // Executes what is pending.
  void Flush();

 private:
  static constexpr size_t kRowsPerStatement = 16;
  void Execute(Statement& statement, const Cell* cells, size_t count);

  Database* database_;
  size_t columns_;
  Statement many_, one_;
  std::vector<Cell> pending_;
};

}  // namespace lanescope
