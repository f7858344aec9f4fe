// SPDX-License-Identifier: Apache-2.0
// Baselines of a store: what is written is read back, what is none is refused and stays as it is, and how
// records differ from each other.
#include "study/gate/stored_baseline.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "core/base/error.h"
#include "tests/support/expect_error.h"
#include "tests/traces/sample_run.h"

namespace lanescope::study {
namespace {

using traces::BaselineStore;

traces::BaselineRecord Record(std::initializer_list<double> values) {
  traces::BaselineRecord record{"t.db", 5, {}};
  for (const double value : values)
    record.runs.push_back({7, 10, {{"step", value, value, std::numeric_limits<double>::infinity()}}});
  return record;
}

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void Execute(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  sqlite3_close(database);
}

TEST(BaselineStore, WhatIsStoredIsThere) {
  const traces::ScratchFile file("s.db");
  BaselineStore(file.path(), BaselineStore::Access::kAppend).Add("main", Record({1}));
  BaselineStore(file.path(), BaselineStore::Access::kAppend).Add("main", Record({2, 3}));
  BaselineStore store(file.path(), BaselineStore::Access::kRead);
  const auto records = store.Latest("main", 5);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].runs[0].samples[0].value, 1);
  EXPECT_EQ(records[1].what, "t.db");
  const std::vector<RunSample> runs = LatestBaseline(&store, "main", ParseQuantities("step"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].of[0].value, 3);
  EXPECT_EQ(runs[1].utc_ns, 7);
  EXPECT_TRUE(std::isinf(runs[1].of[0].error));
  EXPECT_EQ(store.Latest("main", 1).front().runs.size(), 2u);
  test::ExpectError([&] { LatestBaseline(&store, "mian", ParseQuantities("step")); }, Code::kNotFound,
                    "main");
  test::ExpectError([&] { LatestBaseline(&store, "main", ParseQuantities("idle")); }, Code::kNotFound,
                    "idle");
}

// With 100, 102, 100, 102: neighbours differ by 2 of 101, so that a record has a spread of that over the root
// of two.
TEST(BaselineStore, RecordsDifferByTheirSteps) {
  std::vector<traces::BaselineRecord> records;
  for (const double value : {100.0, 102.0, 100.0, 102.0}) records.push_back(Record({value}));
  const BaselineSpread spread = SpreadOfBaselines(records, ParseQuantities("step")).front();
  EXPECT_EQ(spread.freedom, 3);
  EXPECT_NEAR(spread.of_records, 2.0 / 101 / std::sqrt(2), 1e-12);
  EXPECT_EQ(spread.run_freedom, 0);
  EXPECT_EQ(SpreadOfBaselines(records, ParseQuantities("idle")).front().freedom, 0);
}

TEST(BaselineStore, WhatIsNoStoreIsRefusedAndStaysAsItIs) {
  const traces::ScratchFile file("s.db");
  const auto expect_refused = [&](Code code, const std::string& text) {
    const std::string before = TextOf(file.path());
    for (const auto access : {BaselineStore::Access::kRead, BaselineStore::Access::kAppend})
      test::ExpectError([&] { BaselineStore(file.path(), access); }, code, text);
    EXPECT_EQ(TextOf(file.path()), before);
  };
  test::ExpectError([&] { BaselineStore(file.path(), BaselineStore::Access::kRead); }, Code::kNotFound, "");
  std::ofstream(file.path()) << "this is text, and long enough to be more than a header of a database is";
  expect_refused(Code::kDataLoss, "");
  std::filesystem::remove(file.path());
  Execute(file.path(), "CREATE TABLE T (a)");
  expect_refused(Code::kFailedPrecondition, "no store of baselines");
  Execute(file.path(), "PRAGMA application_id=0x4c6e5362; PRAGMA user_version=2");
  expect_refused(Code::kFailedPrecondition, "newer version");
  Execute(file.path(), "PRAGMA user_version=1");
  expect_refused(Code::kDataLoss, "its tables are missing");
}

// Values that no run can have, in rows that the store would never write.
TEST(BaselineStore, HostileRowsAreRefused) {
  for (const char* change : {"value = -1", "value = 9e999", "scale = 'x'", "run = -5", "value = x'00'"}) {
    const traces::ScratchFile file("s.db");
    BaselineStore(file.path(), BaselineStore::Access::kAppend).Add("main", Record({1}));
    Execute(file.path(), std::string("UPDATE BASELINE_SAMPLE SET ") + change);
    BaselineStore store(file.path(), BaselineStore::Access::kRead);
    test::ExpectError([&] { store.Latest("main", 1); }, Code::kDataLoss, "");
  }
}

}  // namespace
}  // namespace lanescope::study
