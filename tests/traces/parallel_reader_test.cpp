// SPDX-License-Identifier: Apache-2.0
#include "traces/store/parallel_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/base/error.h"
#include "tests/traces/sample_run.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

struct ParallelTable : TableOf<ParallelTable> {
  constexpr ParallelTable() : TableOf("t", "") {}
  Integer a{this, {"a", Need::kAlways, ""}};
  Integer b{this, {"b", Need::kOptional, ""}};
  Integer c{this, {"c", Need::kOptional, ""}};
  Integer absent{this, {"absent", Need::kOptional, ""}};
};
constexpr ParallelTable kTable;

using RowsOfTable = std::vector<std::vector<std::optional<int64_t>>>;

// Rows in the order of the file, and how many parts they came in.
struct Collected {
  RowsOfTable rows;
  size_t parts = 0;
};

Collected ReadParallel(ParallelReader* reader, const ReadWatch& watch = {}) {
  std::vector<RowsOfTable> parts;
  reader->Read(
      kTable, {kTable.a, kTable.b, kTable.c, kTable.absent}, watch,
      [&](int count) { parts.resize(static_cast<size_t>(count)); },
      [&](Stretch at, const auto& row) {
        parts[static_cast<size_t>(at.part)].push_back(
            {row[kTable.a], row[kTable.b], row[kTable.c], row[kTable.absent]});
      });
  Collected all;
  all.parts = parts.size();
  for (const RowsOfTable& part : parts) all.rows.insert(all.rows.end(), part.begin(), part.end());
  return all;
}

RowsOfTable ReadByStatement(const std::string& path) {
  Database database(path, OpenMode::kReadOnly);
  Statement statement(database, "SELECT a, b, c FROM t");
  const auto value = [&](int column) {
    return statement.IsNull(column) ? std::nullopt : std::optional<int64_t>(statement.Integer(column));
  };
  RowsOfTable rows;
  while (statement.Step()) rows.push_back({value(0), value(1), value(2), std::nullopt});
  return rows;
}

// Values of every width that the format has, NULLs, and a text between the wanted columns.
void FillTable(Database* database, int rows) {
  std::mt19937_64 rng(7);
  Statement insert(*database, "INSERT INTO t (a, x, b, c) VALUES (?, ?, ?, ?)");
  database->Execute("BEGIN");
  for (int i = 0; i < rows; ++i) {
    const auto value = [&] { return static_cast<int64_t>(rng()) >> (rng() % 64); };
    insert.BindInteger(1, value());
    insert.BindText(2, std::string(rng() % 90, 'x'));
    if (rng() % 5 == 0) {
      insert.BindNull(3);
    } else {
      insert.BindInteger(3, value());
    }
    insert.BindInteger(4, static_cast<int64_t>(rng() % 3) - 1);
    insert.Run();
  }
  database->Execute("COMMIT");
}

// Rows 0 to 59999 but every seventh: two threads take stretches in turns, and all rows arrive in the order of
// the file.
TEST(ParallelReaderTest, TwoThreadsReadWhatOneStatementReads) {
  ScratchFile file;
  {
    Database database(file.path(), OpenMode::kCreate);
    database.Execute("CREATE TABLE t (a, x, b, c)");
    FillTable(&database, 60000);
    database.Execute("DELETE FROM t WHERE rowid % 7 = 3");
  }
  ParallelReader reader(file.path(), 2);
  double progress = 0;
  const Collected found =
      ReadParallel(&reader, {nullptr, [&](double fraction) { progress = std::max(progress, fraction); }});
  EXPECT_EQ(found.rows, ReadByStatement(file.path()));
  EXPECT_EQ(found.parts, 16u);
  EXPECT_GT(progress, 0.8);
}

// A table that cannot be cut comes in one part: too few rows, a write-ahead log, no row numbers, negative
// ones. A row that spans pages and a column added later change nothing.
TEST(ParallelReaderTest, EveryKindOfTable) {
  const std::string changes[] = {"INSERT INTO t (a, x, b, c) VALUES (1, zeroblob(20000), 2, 3)",
                                 "ALTER TABLE t ADD COLUMN absent2",
                                 "PRAGMA journal_mode = WAL; INSERT INTO t (a) VALUES (5)",
                                 "CREATE TABLE u (a INTEGER PRIMARY KEY, x, b, c) WITHOUT ROWID; INSERT INTO "
                                 "u SELECT rowid, x, b, c FROM t; "
                                 "DROP TABLE t; ALTER TABLE u RENAME TO t",
                                 "INSERT INTO t (rowid, a) VALUES (-5, 7)"};
  for (const std::string& change : changes) {
    for (const int count : {100, 50000}) {
      ScratchFile file;
      Database database(file.path(), OpenMode::kCreate);
      database.Execute("CREATE TABLE t (a, x, b, c)");
      FillTable(&database, count);
      database.Execute(change);
      ParallelReader reader(file.path(), 2);
      const Collected found = ReadParallel(&reader);
      EXPECT_EQ(found.rows, ReadByStatement(file.path())) << change;
      const bool one = count == 100 || &change >= &changes[2];
      EXPECT_EQ(found.parts, one ? 1u : 16u) << change;
    }
  }
}

TEST(ParallelReaderTest, SaysWhatIsWrong) {
  const std::atomic<bool> cancelled{true};
  const std::pair<const char*, Code> cases[] = {
      {"CREATE TABLE t (b, c); INSERT INTO t VALUES (1, 1)", Code::kDataLoss},  // no column a
      {"CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'text')", Code::kDataLoss},
      {"CREATE TABLE t (a); INSERT INTO t VALUES (1)", Code::kCancelled},
  };
  for (const auto& [sql, code] : cases) {
    ScratchFile file;
    Database(file.path(), OpenMode::kCreate).Execute(sql);
    ParallelReader reader(file.path(), 2);
    try {
      ReadParallel(&reader, {&cancelled, nullptr});
      ADD_FAILURE() << sql;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << sql;
    }
    EXPECT_EQ(reader.EstimateRows(kTable), 1);
    EXPECT_EQ(reader.EstimateRows(tables::kKernel), 0);
  }
}

// A column is read as what it holds: what does not fit names table and column, a column that was not asked
// for is a defect of the reader, and one that is not wanted reads as NULL.
TEST(ParallelReaderTest, ColumnsHoldWhatTheTableSays) {
  ScratchFile file;
  Database database(file.path(), OpenMode::kCreate);
  database.Execute(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, \"end\", deviceId, bytes, srcDeviceId);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1 << 62, NULL, 4294967295, -1, NULL)");
  constexpr const auto& from = tables::kMemcpy;
  int rows = 0;
  ReadRows(database, from, {from.start, from.end, from.device, from.bytes, {from.src_device, false}},
           [&](const auto& row) {
             ++rows;
             EXPECT_EQ(row[from.start], std::nullopt);  // no time
             EXPECT_EQ(row[from.end], std::nullopt);
             EXPECT_EQ(row[from.device], -1);
             EXPECT_TRUE(row.IsNull(from.src_device));
             EXPECT_THROW(row[from.dst_device], Error);
             try {
               row[from.bytes];
               ADD_FAILURE();
             } catch (const Error& error) {
               EXPECT_NE(std::string(error.what()).find("CUPTI_ACTIVITY_KIND_MEMCPY.bytes holds -1"),
                         std::string::npos)
                   << error.what();
             }
           });
  EXPECT_EQ(rows, 1);
}

}  // namespace
}  // namespace lanescope::traces
