// SPDX-License-Identifier: Apache-2.0
#include "traces/read/trace_reader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "core/base/error.h"
#include "tests/traces/sample_run.h"
#include "tests/traces/shared_traces.h"
#include "traces/report/statistics.h"
#include "traces/report/summary.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

Code CodeOfReading(const std::string& path) {
  try {
    TraceReader reader(path);
    reader.ReadRun(1);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kUnknown;
}

TEST(TraceReaderTest, SaysWhatIsWrongWithAFile) {
  ScratchFile missing, text, empty_database;
  EXPECT_EQ(CodeOfReading(missing.path()), Code::kNotFound);
  std::ofstream(text.path()) << std::string(5000, 'x');
  EXPECT_EQ(CodeOfReading(text.path()), Code::kDataLoss);
  Database(empty_database.path(), OpenMode::kCreate).Execute("CREATE TABLE people (name TEXT)");
  EXPECT_EQ(CodeOfReading(empty_database.path()), Code::kInvalidArgument);
}

TEST(TraceReaderTest, NamesTheRunsThereAre) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, 1);
  writer.Close();
  try {
    TraceReader(file.path()).ReadRun(7);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_NE(error.message().find("it has 1"), std::string::npos) << error.message();
  }
}

// Law: tasks and whose a device is follow from the devices' names; who played them, and by how far its clock
// is known, from the run. A machine of one task has none.
TEST(TraceReaderTest, TasksOfDevices) {
  ScratchFile file;
  SampleRun measured(false), simulated(true), alone(false);
  measured.SplitIntoTasks();
  simulated.SplitIntoTasks();
  RunOutcome outcome;
  outcome.tasks = SampleRun::Tasks();
  TraceWriter writer(file.path());
  measured.WriteTo(&writer, 1, outcome);
  simulated.WriteTo(&writer, 1);
  alone.WriteTo(&writer, 1);
  writer.Close();
  TraceReader reader(file.path());
  const TraceRun run = reader.ReadRun(1);
  std::vector<int> task_of;
  for (const TraceDevice& device : run.devices) task_of.push_back(device.task);
  EXPECT_EQ(task_of, (std::vector<int>{0, 1, 0}));  // GPUs first
  ASSERT_EQ(run.tasks.size(), 2u);
  EXPECT_EQ(TaskText(run.tasks[1]), "/job:worker/task:1 (rank 1 on b)");
  EXPECT_EQ(run.tasks[1].clock_ahead_ns, -7000);
  EXPECT_EQ(ClockText(run.tasks[1]), "clock within 3.2 us");
  EXPECT_EQ(ClockText(run.tasks[0]), "");
  const std::vector<RunTask> of_simulated = reader.Tasks(2);
  ASSERT_EQ(of_simulated.size(), 2u);
  EXPECT_EQ(TaskText(of_simulated[1]), "/job:worker/task:1");
  EXPECT_TRUE(reader.Tasks(3).empty());
  for (const TraceDevice& device : reader.Devices(3)) EXPECT_EQ(device.task, -1);
}

// Law: tasks are numbered as the machine file names them, whatever numbers devices have in the trace.
TEST(TraceReaderTest, TasksAreInTheMachinesOrder) {
  ScratchFile file;
  SampleRun sample;
  sample.SplitIntoTasks("/job:ps/replica:0/task:0");
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, 1);
  writer.Close();
  std::vector<std::string> names;
  for (const RunTask& task : TraceReader(file.path()).Tasks(1)) names.push_back(task.name);
  EXPECT_EQ(names, (std::vector<std::string>{"/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"}));
}

// Old exports: few tables, few columns, no enumerations, columns in another order.
TEST(TraceReaderTest, ToleratesMissingTablesAndColumns) {
  ScratchFile file;
  Database(file.path(), OpenMode::kCreate)
      .Execute(
          "CREATE TABLE StringIds (value TEXT, id INTEGER);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (shortName INTEGER, deviceId INTEGER, end INTEGER, start "
          "INTEGER);"
          "INSERT INTO StringIds VALUES ('gemm', 3);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (3, 1, 30, 10), (4, 1, 50, 40), (3, 1, 5, 9);");
  const TraceRun run = TraceReader(file.path()).ReadRun(1);
  ASSERT_EQ(run.launches.size(), 2u);
  EXPECT_EQ(run.Text(run.launches[0].op), "gemm");
  EXPECT_EQ(run.Text(run.launches[0].name), "gemm");
  EXPECT_EQ(run.launches[1].op, -1);  // a text that the file does not have
  EXPECT_EQ(run.invalid_rows, 1);     // ends before it starts: counted, not dropped in silence
  EXPECT_EQ(run.launches[0].step, -1);
  ASSERT_EQ(run.devices.size(), 1u);
  EXPECT_EQ(run.DeviceLabel(1), "GPU:1");
}

TEST(TraceReaderTest, RefusesViewsAndMissingRequiredColumns) {
  ScratchFile view, column;
  Database(view.path(), OpenMode::kCreate)
      .Execute(
          "CREATE TABLE StringIds (id INTEGER, value TEXT);"
          "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x "
          "FROM n) "
          "SELECT x AS start, x AS end, x AS deviceId, x AS shortName FROM n;");
  EXPECT_EQ(CodeOfReading(view.path()), Code::kInvalidArgument);
  Database(column.path(), OpenMode::kCreate)
      .Execute(
          "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, deviceId INTEGER, shortName INTEGER)");
  EXPECT_EQ(CodeOfReading(column.path()), Code::kDataLoss);
}

TEST(RealTraceTest, TwoH100s) {
  const std::string path = SharedNsysTrace("h100_2gpu_1s.sqlite");
  if (path.empty()) GTEST_SKIP() << "no shared traces here";
  TraceReader reader(path);
  EXPECT_FALSE(reader.is_ours());
  const TraceRun run = reader.ReadRun(1);
  std::map<int, std::pair<int64_t, int64_t>> kernels;  // count, ns
  for (const TraceLaunch& launch : run.launches) {
    ++kernels[launch.device].first;
    kernels[launch.device].second += launch.end_ns - launch.start_ns;
    EXPECT_FALSE(run.Text(launch.name).empty());
  }
  EXPECT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0], std::pair(int64_t{1721}, int64_t{22'385'163}));
  EXPECT_EQ(kernels[1], std::pair(int64_t{1721}, int64_t{22'444'359}));
  const RunStatistics statistics = ComputeStatistics(run);
  const CopyTotals& in = statistics.Copies(CopyClass::kHostToDevice);
  EXPECT_EQ(in.count, 450);
  EXPECT_EQ(in.bytes, 50'950'507'584);
  const CopyTotals& within = statistics.Copies(CopyClass::kWithinDevice);
  EXPECT_EQ(within.count, 450);
  EXPECT_EQ(within.bytes, 59'368'472'576);
  EXPECT_EQ(statistics.Copies(CopyClass::kDeviceToDevice).count, 0);
}

TEST(RealTraceTest, Rtx3080) {
  const std::string path = SharedNsysTrace("rtx3080_small.sqlite");
  if (path.empty()) GTEST_SKIP() << "no shared traces here";
  const TraceRun run = TraceReader(path).ReadRun(1);
  EXPECT_EQ(run.launches.size(), 2u);
  ASSERT_EQ(run.copies.size(), 1u);
  EXPECT_EQ(run.copies[0].copy_class, CopyClass::kDeviceToHost);
  EXPECT_EQ(run.copies[0].bytes, 4);
  ASSERT_EQ(run.devices.size(), 1u);
  EXPECT_EQ(run.devices[0].memory_limit, 10'736'893'952);
}

TEST(RealTraceTest, UnifiedMemoryCopiesKeepTheirDirection) {
  const std::string path = SharedNsysTrace("t4_unified_memory_schema_3.17.sqlite");
  if (path.empty()) GTEST_SKIP() << "no shared traces here";
  const RunStatistics statistics = ComputeStatistics(TraceReader(path).ReadRun(1));
  EXPECT_EQ(statistics.Copies(CopyClass::kHostToDevice).count, 834);
  EXPECT_EQ(statistics.Copies(CopyClass::kHostToDevice).bytes, 268'500'992);
  EXPECT_EQ(statistics.Copies(CopyClass::kDeviceToHost).count, 1536);
  EXPECT_EQ(statistics.Copies(CopyClass::kDeviceToHost).bytes, 268'435'456);
}

}  // namespace
}  // namespace lanescope::traces
