// SPDX-License-Identifier: Apache-2.0
// Damaged and malicious files: reading one ends in an Error or in a result, never otherwise.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "core/base/error.h"
#include "tests/support/sanitized.h"
#include "tests/traces/sample_run.h"
#include "tests/traces/shared_traces.h"
#include "traces/export/export.h"
#include "traces/export/report_page.h"
#include "traces/read/trace_reader.h"
#include "traces/report/statistics.h"
#include "traces/report/summary.h"
#include "traces/report/waits.h"
#include "traces/store/query_text.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

std::string Bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string SampleTrace(const std::string& path) {
  SampleRun sample;
  TraceWriter writer(path);
  sample.WriteTo(&writer, 20);
  writer.Close();
  return Bytes(path);
}

// Runs everything that reads a trace. True when all of it succeeded.
bool ReadsWithoutError(const std::string& path) {
  bool good = true;
  const auto attempt = [&good](auto work) {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_NE(error.code(), Code::kInternal) << error.what();
      good = false;
    }
  };
  attempt([&] {
    TraceReader reader(path);
    for (const TraceRunInfo& info : reader.Runs()) ComputeStatistics(reader.ReadRun(info.id));
  });
  attempt([&] {
    const Summary summary = Summarize(path, 1);
    SummaryText(summary);
    SummaryJson(summary);
  });
  attempt([&] {
    TraceReader reader(path);
    for (const TraceRunInfo& info : reader.Runs()) {
      const TraceRun run = reader.ReadRun(info.id);
      for (const auto write : {WritePerfetto, WriteChrome, WriteCsv}) write(run, [](std::string_view) {});
      if (!run.commands.empty()) WriteGraphviz(run, [](std::string_view) {});
      TimelineData(run, 100);
      WaitsText(FindWaits(run), 80);
    }
  });
  attempt([&] {
    QueryJson json([](std::string_view) {});
    RunQuery(path, "SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName", {}, &json);
  });
  return good;
}

void FuzzBytes(const std::string& original, const std::string& path, int rounds) {
  std::mt19937 random(12345);
  for (int round = 0; round < rounds; ++round) {
    std::string mutated = original;
    const int changes = 1 + static_cast<int>(random() % 40);
    for (int i = 0; i < changes; ++i) mutated[random() % mutated.size()] = static_cast<char>(random());
    if (round % 10 == 9) mutated.resize(random() % mutated.size());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << mutated;
    ReadsWithoutError(path);
  }
}

TEST(HostileTraceTest, MutatedBytes) {
  ScratchFile file, mutated("mutated.db");
  FuzzBytes(SampleTrace(file.path()), mutated.path(), 300);
}

TEST(HostileTraceTest, MutatedBytesOfARealTrace) {
  const std::string path = SharedNsysTrace("rtx3080_small.sqlite");
  if (path.empty()) GTEST_SKIP() << "no shared traces here";
  ScratchFile mutated("mutated.db");
  FuzzBytes(Bytes(path), mutated.path(), 100);
}

// Every column of every table that has rows, with values that do not belong there.
TEST(HostileTraceTest, WrongTypesAndHugeValues) {
  ScratchFile file, mutated("mutated.db");
  const std::string original = SampleTrace(file.path());
  std::vector<std::pair<std::string, std::string>> columns;
  {
    Database database(file.path(), OpenMode::kReadOnly);
    Statement list(
        database,
        "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = "
        "'table' AND m.name NOT LIKE 'ENUM%'");
    while (list.Step()) columns.emplace_back(list.Text(0), list.Text(1));
  }
  const char* values[] = {"'text'", "1e300", "9223372036854775807", "-9223372036854775807 - 1", "1 << 40"};
  int errors = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto& [table, column] = columns[i];
    if (Database(file.path(), OpenMode::kReadOnly).QueryInteger("SELECT COUNT(*) FROM " + table) == 0)
      continue;
    for (size_t v = i % test::kOneCaseOf; v < std::size(values); v += test::kOneCaseOf) {
      const char* value = values[v];
      std::ofstream(mutated.path(), std::ios::binary | std::ios::trunc) << original;
      {
        Database database(mutated.path(), OpenMode::kReadWrite);
        try {
          database.Execute("PRAGMA synchronous=OFF; UPDATE " + table + " SET \"" + column + "\" = " + value +
                           " WHERE rowid = (SELECT MAX(rowid) FROM " + table + ")");
        } catch (const Error&) {
          continue;  // a key that takes integers only
        }
      }
      if (!ReadsWithoutError(mutated.path())) ++errors;
    }
  }
  EXPECT_GT(errors, 100 / test::kOneCaseOf);
}

TEST(HostileTraceTest, TotalsDoNotOverflow) {
  ScratchFile file;
  Database(file.path(), OpenMode::kCreate)
      .Execute(
          "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, shortName "
          "INTEGER);"
          "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 40) INSERT INTO "
          "CUPTI_ACTIVITY_KIND_KERNEL SELECT -(1 << 60), 1 << 60, 0, 1 FROM n;");
  const Summary summary = Summarize(file.path(), 1);
  ASSERT_EQ(summary.gpu_activities.size(), 1u);
  EXPECT_EQ(summary.gpu_activities[0].total_ns, INT64_MAX);
  EXPECT_EQ(summary.communication.compute_ns, int64_t{1} << 61);
}

}  // namespace
}  // namespace lanescope::traces
