#include "traces/slice_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/error.h"
#include "tests/traces/sample_run.h"
#include "traces/sqlite.h"

namespace lanescope {
namespace {

// Rows in the order of the file, and how many parts they came in.
class Collector : public BulkSink {
 public:
  void Begin(int parts) override { parts_.assign(static_cast<size_t>(parts), {}); }
  void Row(int part, std::span<const int64_t> values) override {
    parts_[static_cast<size_t>(part)].emplace_back(values.begin(), values.end());
  }
  std::vector<std::vector<int64_t>> all() const {
    std::vector<std::vector<int64_t>> rows;
    for (const auto& part : parts_) rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }
  size_t parts() const { return parts_.size(); }

 private:
  std::vector<std::vector<std::vector<int64_t>>> parts_;
};

std::vector<std::vector<int64_t>> ReadByStatement(const std::string& path) {
  Database database(path, OpenMode::kReadOnly);
  Statement statement(database, "SELECT a, b, c FROM t");
  std::vector<std::vector<int64_t>> rows;
  while (statement.Step()) {
    rows.push_back({statement.Integer(0, kBulkNull), statement.Integer(1, kBulkNull),
                    statement.Integer(2, kBulkNull), kBulkNull});
  }
  return rows;
}

constexpr BulkColumn kColumns[] = {{"a", true}, {"b"}, {"c"}, {"absent"}};

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
TEST(SliceReaderTest, TwoThreadsReadWhatOneStatementReads) {
  ScratchFile file;
  {
    Database database(file.path(), OpenMode::kCreate);
    database.Execute("CREATE TABLE t (a, x, b, c)");
    FillTable(&database, 60000);
    database.Execute("DELETE FROM t WHERE rowid % 7 = 3");
  }
  SliceReader reader(file.path());
  Collector rows;
  double progress = 0;
  reader.Read("t", kColumns, &rows, nullptr,
              [&](double fraction) { progress = std::max(progress, fraction); });
  EXPECT_EQ(rows.all(), ReadByStatement(file.path()));
  EXPECT_EQ(rows.parts(), 16u);
  EXPECT_GT(progress, 0.8);
}

// What cannot be cut comes in one part: too few rows, a write-ahead log, no row numbers, negative
// ones. A row that spans pages and a column added later change nothing.
TEST(SliceReaderTest, EveryKindOfTable) {
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
      SliceReader reader(file.path());
      Collector rows;
      reader.Read("t", kColumns, &rows, nullptr, nullptr);
      EXPECT_EQ(rows.all(), ReadByStatement(file.path())) << change;
      const bool one = count == 100 || &change >= &changes[2];
      EXPECT_EQ(rows.parts(), one ? 1u : 16u) << change;
    }
  }
}

TEST(SliceReaderTest, SaysWhatIsWrong) {
  ScratchFile file;
  Database database(file.path(), OpenMode::kCreate);
  database.Execute("CREATE TABLE t (b, c); INSERT INTO t VALUES ('text', 1)");
  SliceReader reader(file.path());
  Collector rows;
  EXPECT_THROW(reader.Read("t", kColumns, &rows, nullptr, nullptr), Error);  // no column a
  const BulkColumn text[] = {{"b", true}};
  EXPECT_THROW(reader.Read("t", text, &rows, nullptr, nullptr), Error);
  const std::atomic<bool> cancelled{true};
  const BulkColumn number[] = {{"c", true}};
  EXPECT_THROW(reader.Read("t", number, &rows, &cancelled, nullptr), Error);
  EXPECT_EQ(reader.EstimateRows("t"), 1);
  EXPECT_EQ(reader.EstimateRows("none"), 0);
}

}  // namespace
}  // namespace lanescope
