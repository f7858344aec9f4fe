// SPDX-License-Identifier: Apache-2.0
// The whole schema of a trace file: CREATE TABLE, INSERT and docs/reference/schema.md, made of the tables in
// nsys_tables.h and lanescope_tables.h. The activity tables carry the names, columns, units and enumerations
// of the Nsight Systems SQLite export; what those cannot say stands in tables with the prefix LANESCOPE_.
// Internal to traces.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "traces/store/table.h"

namespace lanescope::traces {

inline constexpr int kSchemaVersion = 7;
// The oldest that is read: files before it say nothing of their queues.
inline constexpr int kOldestSchemaVersion = 3;
// In the header of every trace file (PRAGMA application_id): "LnSc".
inline constexpr int32_t kTraceApplicationId = 0x4c6e5363;

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
  const Table* table = nullptr;
  std::string_view column;
};

std::span<const Table* const> NsysTables();
std::span<const EnumTable> NsysEnums();
std::span<const Table* const> LanescopeTables();
// That traces of other tools have once they are imported, and ours never.
std::span<const Table* const> ImportedTables();
// Made when a file is closed: an index that exists during the load halves its speed.
std::span<const Index> TraceIndexes();

// `end` is a keyword of SQL.
std::string Quoted(std::string_view name);
std::string CreateTableSql(const Table& table);
// INSERT of `rows` rows at once that binds the columns `bound`, in that order, and fills the others.
std::string InsertSql(const Table& table, std::span<const uint8_t> bound, int rows);
// UPDATE that binds `set`, of the rows whose `keys` have the values that are bound after them.
std::string UpdateSql(const Table& table, std::span<const uint8_t> set, std::span<const uint8_t> keys);
// Statements that make the enumerations; harmless where they exist already.
std::string CreateEnumsSql();
// Gives that for every table, enumeration and the schema version.
std::string CreateAllSql();
// docs/reference/schema.md.
std::string SchemaMarkdown();

}  // namespace lanescope::traces
