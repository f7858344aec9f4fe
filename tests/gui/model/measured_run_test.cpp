// SPDX-License-Identifier: Apache-2.0
// A run that is started in the timeline is the run that `lanescope run` makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/file.h"
#include "core/graph/graph_builder.h"
#include "core/graph/graph_io.h"
#include "core/machine/machine.h"
#include "gui/document/document.h"
#include "tests/cli/program.h"
#include "tests/gui/model/sample_trace.h"
#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::gui {
namespace {

using cli::Lanescope;
using test::PollUntil;

constexpr int kOps = 4;

// Columns that depend on when something ran, in which process, and how often the file was opened.
const std::set<std::string> kOfTheMoment = {"start",         "end",
                                            "duration",      "time",
                                            "startTime",     "stopTime",
                                            "utcEpochNs",    "utcTime",
                                            "localTime",     "systemClockNs",
                                            "clockOriginNs", "sessionStartCntVctNs",
                                            "correlationId", "nextCorrelationId",
                                            "globalPid",     "globalTid",
                                            "pid",           "processId",
                                            "stepMedianNs",  "stepP25Ns",
                                            "stepP75Ns",     "stepMinNs",
                                            "stepMaxNs"};

// Every row of every table, less the columns above; sorted, since rows stand in the order in which they
// ended.
std::vector<std::string> RowsOf(const std::string& path) {
  traces::Database database(path, traces::OpenMode::kReadOnly);
  std::vector<std::string> tables, rows;
  traces::Statement list(database, "SELECT name FROM sqlite_master WHERE type = 'table'");
  while (list.Step()) tables.emplace_back(list.Text(0));
  for (const std::string& table : tables) {
    std::string columns = "''";
    for (const std::string& column : database.Columns(table)) {
      if (kOfTheMoment.count(column) > 0) continue;
      columns += fmt::format(" || {} || '=' || ifnull(\"{}\", 'NULL') || ' '", "'" + column + "'", column);
    }
    traces::Statement all(database, fmt::format("SELECT {} FROM \"{}\"", columns, table));
    while (all.Step()) rows.push_back(table + ": " + std::string(all.Text(0)));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

// Rows that one file has and the other lacks.
std::vector<std::string> Differences(const std::string& a, const std::string& b) {
  const std::vector<std::string> of_a = RowsOf(a), of_b = RowsOf(b);
  std::vector<std::string> only_one;
  std::set_symmetric_difference(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                                std::back_inserter(only_one));
  return only_one;
}

// A chain of ops on GPU:0, each of which can be split over many more workers than this computer has cores.
struct CrowdedStep {
  CrowdedStep() : folder("trace.db") {
    const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const int64_t elements = int64_t{16384} * 8 * cores;
    GraphBuilder builder;
    Endpoint at = builder.Placeholder("x", DataType::kFloat, Shape({elements}));
    for (int i = 0; i < kOps; ++i) at = builder.Op("Tanh", fmt::format("op{}", i)).Input(at).Build();
    WriteGraph(builder.graph(), graph);
    WriteFile(
        File("crowded.run.json"),
        fmt::format("{{\"feeds\": {{\"x\": {{\"dtype\": \"float32\", \"shape\": [{}], "
                    "\"generator\": \"uniform\", \"low\": -1, \"high\": 1}}}}, \"targets\": [\"op{}\"]}}",
                    elements, kOps - 1));
    WriteFile(machine, MachineToJson(VirtualMachine(2, 8 * cores)));
  }
  std::string File(const std::string& name) const { return (folder.folder() / name).string(); }

  traces::ScratchFile folder;
  const std::string graph = File("crowded.pbtxt"), machine = File("machine.json"), base = File("base.db");
};

void ExpectSuccess(const cli::Outcome& outcome) { ASSERT_EQ(outcome.status, 0) << outcome.errors; }

// Input: a run by `lanescope run`, its placement run again from the timeline, into a trace of its own; and
// what `lanescope simulate` and `lanescope run` write of the same placement with the costs that the timeline
// kept. Law: the same rows in all tables.
TEST(MeasuredRunTest, EqualsLanescopeRunRowByRow) {
  const CrowdedStep step;
  const std::vector<std::string> place = {step.graph, "--machine", step.machine, "--strategy", "single"};
  const auto command = [&](std::vector<std::string> words, std::vector<std::string> more) {
    words.insert(words.end(), place.begin(), place.end());
    words.insert(words.end(), more.begin(), more.end());
    return Lanescope(words);
  };
  ExpectSuccess(command({"run"}, {"--steps", "3", "--warmup", "1", "--trace", step.base}));

  Document document;
  document.Open(step.base);
  ASSERT_TRUE(PollUntil(&document, [&] { return !document.loading(); }));
  document.BeginWhatIf(document.timeline().runs()[0].key);
  ASSERT_TRUE(PollUntil(&document, [&] { return !document.what_if().preparing; }));
  ASSERT_EQ(document.what_if().problem, "");
  MeasureOptions options;
  options.warmup = 1;
  options.steps = 3;
  options.settings.seed = 7;
  options.trace_path = step.File("timeline.db");
  document.RunIt(options);
  ASSERT_TRUE(PollUntil(&document, [&] { return !document.what_if().measuring; }));
  ASSERT_EQ(document.what_if().problem, "");

  traces::TraceReader timeline(options.trace_path);
  const std::string costs = timeline.CostModelOf(1);
  ASSERT_NE(costs, "");
  WriteFile(step.File("cost.json"), costs);
  const std::string program = step.File("program.db");
  ExpectSuccess(
      command({"simulate"}, {"--steps", "3", "--cost", step.File("cost.json"), "--trace", program}));
  ExpectSuccess(command({"run"}, {"--steps", "3", "--warmup", "1", "--seed", "7", "--trace", program}));
  EXPECT_THAT(Differences(options.trace_path, program), testing::IsEmpty());
  EXPECT_GT(RowsOf(program).size(), 100u);
  EXPECT_TRUE(timeline.Runs()[1].oversubscribed);
}

}  // namespace
}  // namespace lanescope::gui
