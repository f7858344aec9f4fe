// The whole schema of a trace file, once: tables, columns, units, enumerations. CREATE TABLE, INSERT and
// docs/schema.md are derived from it. The activity tables carry the names, columns, units and enumerations of
// the Nsight Systems SQLite export; what those cannot say stands in tables with the prefix LANESCOPE_.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lanescope {

inline constexpr int kSchemaVersion = 3;
// In the header of every trace file (PRAGMA application_id): "LnSc".
inline constexpr int32_t kTraceApplicationId = 0x4c6e5363;

enum class ColumnType : uint8_t { kInteger, kReal, kText };

struct Column {
  std::string_view name;
  ColumnType type = ColumnType::kInteger;
  bool required = false;  // NOT NULL
  std::string_view doc;
  std::string_view
      fill;  // SQL literal of rows that do not set the column; default 0 where required, NULL else
};

struct Table {
  std::string_view name;
  std::string_view doc;
  std::span<const Column> columns;
  std::string_view primary_key;  // an integer column; empty: none
};

struct EnumValue {
  int64_t id = 0;
  std::string_view name;
  std::string_view label;
};

// A table (id, name, label) with fixed rows.
struct EnumTable {
  std::string_view name;
  std::span<const EnumValue> values;
};

struct Index {
  std::string_view name;
  std::string_view table;
  std::string_view column;
};

std::span<const Table> NsysTables();
std::span<const EnumTable> NsysEnums();
std::span<const Table> LanescopeTables();
// Made when a file is closed: an index that exists during the load halves its speed.
std::span<const Index> TraceIndexes();

// Throws Internal for a name that is not in the schema.
const Table& FindTable(std::string_view name);

std::string CreateTableSql(const Table& table);
// INSERT of `rows` rows at once that binds `bound` columns, in that order, and fills the others.
std::string InsertSql(const Table& table, std::span<const std::string_view> bound, int rows);
// Statements that make every table, enumeration and the schema version; harmless where they exist already.
std::string CreateAllSql();
// docs/schema.md.
std::string SchemaMarkdown();

}  // namespace lanescope
