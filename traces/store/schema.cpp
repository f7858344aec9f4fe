// SPDX-License-Identifier: Apache-2.0
#include "traces/store/schema.h"

#include <algorithm>

#include "core/base/error.h"
#include "traces/store/import_tables.h"

namespace lanescope::traces {
namespace {

std::string_view TypeName(ColumnType type) {
  switch (type) {
    case ColumnType::kInteger:
      return "INTEGER";
    case ColumnType::kReal:
      return "REAL";
    case ColumnType::kText:
      return "TEXT";
  }
  return "TEXT";
}

std::string Constraints(const Column& column) {
  std::string text;
  if (column.need != Need::kOptional) text += " NOT NULL";
  if (column.need == Need::kPrimaryKey) text += " PRIMARY KEY";
  return text;
}

std::string_view FillOf(const Column& column) {
  if (!column.fill.empty()) return column.fill;
  if (column.need == Need::kOptional) return "NULL";
  return column.type == ColumnType::kText ? "''" : "0";
}

void AppendTable(const Table& table, std::string* out) {
  *out += fmt::format("\n### {}\n\n{}\n\n| column | type | meaning |\n|---|---|---|\n", table.sql_name(),
                      table.about());
  for (const Column& column : table.columns()) {
    *out += fmt::format("| `{}` | {}{} | {} |\n", column.name, TypeName(column.type), Constraints(column),
                        column.doc);
  }
}

// "a" = ?, joined.
std::string Assignments(const Table& table, std::span<const uint8_t> columns, std::string_view joint) {
  std::string text;
  for (const uint8_t column : columns) {
    if (!text.empty()) text += joint;
    text += Quoted(table.columns()[column].name) + " = ?";
  }
  return text;
}

constexpr std::string_view kPreface = R"(# The trace file

This page is generated from `traces/store/nsys_tables.h`, `traces/store/schema_enums.cpp` and `traces/store/lanescope_tables.h`
(`SchemaMarkdown`); a test compares the two. To write it anew: run `traces_tests` with `LANESCOPE_UPDATE_DOCS=1`.

A trace is one SQLite file with any number of runs. Times are ns, sizes bytes. A run's number is the top 16 bits of
`globalPid`. The time of a run counts from its own zero: `LANESCOPE_RUN.clockOriginNs` on `CLOCK_MONOTONIC` for measured
runs, virtual time 0 for simulated ones. `correlationId` is unique in the file.

* Launches of ops are rows of `CUPTI_ACTIVITY_KIND_KERNEL`: `shortName` is the op type, `demangledName` the node, `streamId`
  the queue of the schedule, `contextId` the device number + 1. Ops on the host and on other devices that are no GPU are rows
  there too, with a `deviceId` after those of the GPUs; `LANESCOPE_DEVICE` names them.
* Captured kernels are rows there as the driver reports them: `demangledName` and `shortName` are the function's, and
  `LANESCOPE_ACTIVITY` says whose command they are. The device and stream of a kernel that belongs to a command are those of
  the command, of others the driver's. Their `correlationId` is the driver's plus a number of the process.
* Copies are rows of `CUPTI_ACTIVITY_KIND_MEMCPY`: `copyKind` 1 host to device, 2 device to host, 8 within a device, 10 between
  devices, 9 within the host; `srcKind` and `dstKind` 0 for host memory, 2 for device memory.
* A file is written in WAL mode in batches, so that it can be read meanwhile; a closed file is one file in
  `journal_mode=DELETE`. `LANESCOPE_RUN.complete` is 0 until the run was closed. Indexes are made on closing.
* `PRAGMA application_id` is 0x4c6e5363, `PRAGMA user_version` the version of the schema.

A launch with its node, step and signature:

```sql
SELECT k.start, k."end" - k.start AS ns, op.value AS op, node.value AS node, a.step, signature.value AS signature
FROM CUPTI_ACTIVITY_KIND_KERNEL k
JOIN LANESCOPE_ACTIVITY a ON a.correlationId = k.correlationId AND a.globalPid = k.globalPid
JOIN LANESCOPE_COMMAND c ON c.runId = a.globalPid >> 48 AND c.schedule = a.schedule AND c.commandId = a.commandId
JOIN StringIds op ON op.id = k.shortName
JOIN StringIds node ON node.id = k.demangledName
JOIN StringIds signature ON signature.id = c.signature
WHERE c.runId = 1 ORDER BY k.start;
```
)";

}  // namespace

std::span<const Table* const> NsysTables() { return tables::kNsys; }
std::span<const Table* const> LanescopeTables() { return tables::kLanescope; }
std::span<const Table* const> ImportedTables() { return tables::kImported; }

std::span<const Index> TraceIndexes() {
  using tables::kActivity, tables::kKernel, tables::kMemcpy;
  static constexpr Index kIndexes[] = {
      {"LANESCOPE_KERNEL_CORRELATION", &kKernel, kKernel[kKernel.correlation].name},
      {"LANESCOPE_MEMCPY_CORRELATION", &kMemcpy, kMemcpy[kMemcpy.correlation].name},
      {"LANESCOPE_ACTIVITY_CORRELATION", &kActivity, kActivity[kActivity.correlation].name},
  };
  return kIndexes;
}

std::string Quoted(std::string_view name) { return fmt::format("\"{}\"", name); }

std::string CreateTableSql(const Table& table) {
  std::string sql = fmt::format("CREATE TABLE IF NOT EXISTS {} (", table.sql_name());
  for (const Column& column : table.columns()) {
    if (&column != table.columns().data()) sql += ", ";
    sql += fmt::format("{} {}{}", Quoted(column.name), TypeName(column.type), Constraints(column));
  }
  return sql + ")";
}

std::string InsertSql(const Table& table, std::span<const uint8_t> bound, int rows) {
  std::string names, row;
  const auto add = [&](const Column& column, std::string_view value) {
    if (!names.empty()) names += ",";
    names += Quoted(column.name);
    if (!row.empty()) row += ",";
    row += value;
  };
  for (const uint8_t column : bound) add(table.columns()[column], "?");
  for (size_t i = 0; i < table.columns().size(); ++i) {
    const Column& column = table.columns()[i];
    if (column.need == Need::kPrimaryKey || std::find(bound.begin(), bound.end(), i) != bound.end()) continue;
    add(column, FillOf(column));
  }
  std::string sql = fmt::format("INSERT INTO {} ({}) VALUES ", table.sql_name(), names);
  for (int i = 0; i < rows; ++i) sql += fmt::format("{}({})", i == 0 ? "" : ",", row);
  return sql;
}

std::string UpdateSql(const Table& table, std::span<const uint8_t> set, std::span<const uint8_t> keys) {
  std::string sql = fmt::format("UPDATE {} SET {}", table.sql_name(), Assignments(table, set, ", "));
  if (!keys.empty()) sql += " WHERE " + Assignments(table, keys, " AND ");
  return sql;
}

std::string CreateEnumsSql() {
  std::string sql;
  for (const EnumTable& table : NsysEnums()) {
    sql += fmt::format(
        "CREATE TABLE IF NOT EXISTS {} (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);\n",
        table.name);
    for (const EnumValue& value : table.values) {
      sql += fmt::format("INSERT OR IGNORE INTO {} VALUES ({},'{}','{}');\n", table.name, value.id,
                         value.name, value.label);
    }
  }
  return sql;
}

std::string CreateAllSql() {
  using tables::kSchema;
  std::string sql;
  for (const auto list : {NsysTables(), LanescopeTables()}) {
    for (const Table* table : list) sql += CreateTableSql(*table) + ";\n";
  }
  sql += CreateEnumsSql();
  sql += fmt::format(
      "INSERT INTO {0} ({1}, {2}) SELECT {3}, 1 WHERE NOT EXISTS (SELECT 1 FROM {0});\n"
      "UPDATE {0} SET {1} = {3} WHERE {1} < {3};\n",
      kSchema.sql_name(), kSchema[kSchema.version].name, kSchema[kSchema.next_correlation].name,
      kSchemaVersion);
  return sql;
}

std::string SchemaMarkdown() {
  std::string out(kPreface);
  out += fmt::format("\n## Tables of Lanescope (version {})\n", kSchemaVersion);
  for (const Table* table : LanescopeTables()) AppendTable(*table, &out);
  out += "\n## Tables of imports\n\nBesides those of the export, LANESCOPE_MEMORY and LANESCOPE_DEVICE.\n";
  for (const Table* table : ImportedTables()) AppendTable(*table, &out);
  out += "\n## Tables of the Nsight Systems export\n";
  for (const Table* table : NsysTables()) AppendTable(*table, &out);
  out += "\n## Enumerations\n\nTables (id, name, label) with fixed rows.\n";
  for (const EnumTable& table : NsysEnums()) {
    out += fmt::format("\n### {}\n\n| id | label | name |\n|---|---|---|\n", table.name);
    for (const EnumValue& value : table.values) {
      out += fmt::format("| {} | {} | `{}` |\n", value.id, value.label, value.name);
    }
  }
  out += "\n## Indexes\n\n";
  for (const Index& index : TraceIndexes()) {
    out += fmt::format("* `{}` on `{}` (`{}`)\n", index.name, index.table->sql_name(), index.column);
  }
  return out;
}

}  // namespace lanescope::traces
