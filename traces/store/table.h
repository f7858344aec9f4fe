// SPDX-License-Identifier: Apache-2.0
// How the tables of a trace are declared: a class is a table, its members are the columns. Statements,
// inserters, readers and documentation are made of that one list (nsys_tables.h, lanescope_tables.h).
// Internal to traces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lanescope::traces {

enum class ColumnType : uint8_t { kInteger, kReal, kText };

enum class Need : uint8_t {
  kOptional,
  kNotNull,
  kAlways,     // NOT NULL, and a table without it is no such table
  kPrimaryKey  // NOT NULL PRIMARY KEY, and the same; SQLite numbers rows that do not set it
};

struct Column {
  std::string_view name;
  Need need = Need::kOptional;
  std::string_view doc;
  // SQL literal of rows that do not set the column; empty: 0 or '' where it may not be NULL, NULL else.
  std::string_view fill = {};
  ColumnType type = ColumnType::kInteger;  // its declaration as a member says it
};

// The type of a column, and so what a reader of a file that may hold anything makes of it (table_reader.h).
enum class Holds : uint8_t {
  kInteger,  // any
  kTime,     // ns
  kSize,     // bytes, or another count: none is negative or beyond an exbibyte
  kNumber,   // of something that the trace numbers from 0
  kId,       // of a device or stream: 32 bits, whichever
  kFlag,
  kReal,
  kText
};

// The columns in order. A constant: what refers to a table keeps its address.
class Table {
 public:
  static constexpr size_t kMaxColumns = 48;

  constexpr std::string_view sql_name() const { return name_; }
  constexpr std::string_view about() const { return about_; }
  constexpr std::span<const Column> columns() const { return {columns_.data(), size_}; }

 protected:
  constexpr Table(std::string_view name, std::string_view about) : name_(name), about_(about) {}

 private:
  template <typename T>
  friend class TableOf;
  constexpr uint8_t Append(Column column, ColumnType type) {
    column.type = type;
    columns_.at(size_) = column;
    return static_cast<uint8_t>(size_++);
  }

  std::string_view name_, about_;
  std::array<Column, kMaxColumns> columns_{};
  size_t size_ = 0;
};

// The base of table classes: members of the types below append themselves, in the order in which they
// are declared.
template <typename T>
class TableOf : public Table {
 public:
  // Some column of T.
  struct Any {
    uint8_t index;
  };
  template <Holds what>
  struct Of : Any {
    constexpr Of(TableOf* table, const Column& column)
        : Any{table->Append(column, what == Holds::kText   ? ColumnType::kText
                                    : what == Holds::kReal ? ColumnType::kReal
                                                           : ColumnType::kInteger)} {}
  };
  using Integer = Of<Holds::kInteger>;
  using Time = Of<Holds::kTime>;
  using Size = Of<Holds::kSize>;
  using Number = Of<Holds::kNumber>;
  using Id = Of<Holds::kId>;
  using Flag = Of<Holds::kFlag>;
  using Real = Of<Holds::kReal>;
  using Text = Of<Holds::kText>;

  constexpr const Column& operator[](Any column) const { return columns()[column.index]; }

 protected:
  using Table::Table;
};

}  // namespace lanescope::traces
