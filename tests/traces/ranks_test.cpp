// SPDX-License-Identifier: Apache-2.0
// Files of several ranks of a job: whose every device and process is, by what the files and their names say.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/traces/nsys_export.h"
#include "tests/traces/sample_run.h"
#include "traces/export/timeline.h"
#include "traces/import/import.h"
#include "traces/read/trace_reader.h"
#include "traces/report/summary.h"

namespace lanescope::traces {
namespace {

// A rank with a call in process 100, thread 101, and what it launched on what the rank calls device 0.
std::string OfRank(int rank) {
  return fmt::format(R"json({{"distributedInfo": {{"rank": {}}}, "traceEvents": [
{{"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "args": {{"name": "python3"}}}},
{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 101, "ts": 1, "dur": 2,
  "args": {{"correlation": 7}}}},
{{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 2,
  "args": {{"device": 0, "stream": 7, "correlation": 7}}}}]}})json",
                     rank);
}

class RanksTest : public testing::Test {
 protected:
  // Imports ranks 3 and 5, in files of these names.
  TraceRun Import(const std::string& first, const std::string& second) {
    std::vector<std::string> files;
    for (const auto& [name, rank] : {std::pair(first, 3), std::pair(second, 5)}) {
      files.push_back((out_.folder() / name).string());
      std::ofstream(files.back()) << OfRank(rank);
    }
    ImportTraces(files, out_.path());
    return TraceReader(out_.path()).ReadRun(1);
  }
  ScratchFile out_;
};

// Both see one GPU, which they call 0; in the trace these are 0 and 1.
TEST_F(RanksTest, DevicesAreCalledAfterTheirRanks) {
  const TraceRun run = Import("a.json", "b.json");
  ASSERT_EQ(run.devices.size(), 2u);
  EXPECT_EQ(run.DeviceLabel(run.launches.at(0).device), "rank 3 GPU:0");
  EXPECT_EQ(run.DeviceLabel(run.launches.at(1).device), "rank 5 GPU:0");
  EXPECT_THAT(SummaryText(Summarize(out_.path(), 1)), testing::HasSubstr("rank 5 GPU:0"));
}

TEST_F(RanksTest, ProcessesAreCalledAfterTheirRanks) {
  const TraceRun run = Import("a.json", "b.json");
  EXPECT_EQ(run.ProcessLabel(GlobalPidOf(run.api_calls.at(0).global_tid)), "rank 3: python3 (100)");
  EXPECT_EQ(run.ProcessLabel(GlobalPidOf(run.api_calls.at(1).global_tid)), "rank 5: python3 (100)");
}

// tensorboard_trace_handler names files HOST_PID.TIME.pt.trace.json; a number that is no process of the trace
// says nothing of a host.
TEST_F(RanksTest, NamesOfFilesTellMachines) {
  const TraceRun run = Import("node7_100.123.pt.trace.json", "node_8_100.124.pt.trace.json");
  ASSERT_EQ(run.ranks.size(), 2u);
  EXPECT_EQ(run.ranks[0].host, "node7");
  EXPECT_EQ(run.ranks[1].host, "node_8");
  EXPECT_EQ(run.ProcessLabel(GlobalPidOf(run.api_calls.at(0).global_tid)), "node7 rank 3: python3 (100)");
}
TEST_F(RanksTest, ANumberThatIsNoProcessTellsNoMachine) {
  const TraceRun run = Import("worker_12.123.pt.trace.json", "worker_99999999999999999999.pt.trace.json");
  EXPECT_EQ(run.ranks.at(0).host, "");
  EXPECT_EQ(run.ranks.at(1).host, "");
}

// The profiler's own word, a program's, and the name under which the file was first written.
TEST_F(RanksTest, FilesTellTheirMachines) {
  const std::string of_job = R"("distributedInfo": {"rank": 3)";
  for (const std::string& said : {R"("host_name": "node7", )" + of_job, R"("hostname": "node7", )" + of_job,
                                  of_job + R"(, "hostname": "node7")",
                                  R"("traceName": "/tmp/node7_100.123.pt.trace.json", )" + of_job}) {
    const std::string file = (out_.folder() / "a.json").string();
    std::string text = OfRank(3);
    text.replace(text.find(of_job), of_job.size(), said);
    std::ofstream(file) << text;
    std::filesystem::remove(out_.path());
    ImportTraces({file}, out_.path());
    EXPECT_EQ(Summarize(out_.path(), 1).hosts, std::vector<std::string>{"node7"}) << said;
  }
}
TEST_F(RanksTest, TablesNameMachines) {
  Import("node7_100.123.pt.trace.json", "node8_100.124.pt.trace.json");
  SummaryOptions options;
  options.waits = true;
  const Summary summary = Summarize(out_.path(), 1, options);
  EXPECT_THAT(summary.hosts, testing::ElementsAre("node7", "node8"));
  ASSERT_EQ(summary.waits->devices.size(), 2u);
  EXPECT_EQ(summary.waits->devices[1].label, "rank 5 GPU:0");
  EXPECT_EQ(summary.waits->devices[1].host, "node8");
  EXPECT_THAT(SummaryText(summary), testing::ContainsRegex("Host +Model"));
}

// An export of Nsight Systems of two processes that call their GPU 0 each, of ranks 4 and 6 of MPI.
TEST(MpiRanksTest, NameProcessesAndTheirGpus) {
  ScratchFile file;
  const std::vector<ExportVersion> versions = ExportVersions();
  const auto version = std::ranges::find(versions, "3.24", &ExportVersion::name);
  WriteTwoProcesses(file.path(), *version);
  Database(file.path(), OpenMode::kReadWrite)
      .Execute(fmt::format(
          "CREATE TABLE MPI_RANKS (globalTid INTEGER NOT NULL, rank INTEGER NOT NULL);"
          "INSERT INTO MPI_RANKS VALUES ({}, 4), ({}, 6);"
          "CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER, hwId INTEGER, vmId INTEGER, "
          "processId INTEGER, deviceId INTEGER, contextId INTEGER);"
          "INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (7, 0, 1, 100, 0, 1), (7, 0, 1, 200, 0, 1);"
          "CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum "
          "INTEGER, value TEXT);"
          "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1 << 48, '', 'CpuCores', 0, '18'), (1 << 48, '', "
          "'Hostname', 1, 'node7')",
          kPid1 + 101, kPid2 + 201));
  const TraceRun run = TraceReader(file.path()).ReadRun(1);
  EXPECT_EQ(run.ProcessLabel(kPid1), "rank 4: process 100");
  EXPECT_EQ(run.ProcessLabel(kPid2 + 201), "rank 6: process 200");
  EXPECT_EQ(run.DeviceLabel(0), "rank 4 GPU:0");
  EXPECT_EQ(run.DeviceLabel(1), "rank 6 GPU:1");
  EXPECT_THAT(HostsOf(run.ranks), testing::ElementsAre("node7"));
}
// A GPU of two ranks is nobody's.
TEST(MpiRanksTest, ASharedGpuKeepsItsName) {
  ScratchFile file;
  const std::vector<ExportVersion> versions = ExportVersions();
  WriteTwoProcesses(file.path(), *std::ranges::find(versions, "3.24", &ExportVersion::name));
  Database(file.path(), OpenMode::kReadWrite)
      .Execute(fmt::format(
          "CREATE TABLE MPI_RANKS (globalTid INTEGER NOT NULL, rank INTEGER NOT NULL);"
          "INSERT INTO MPI_RANKS VALUES ({}, 0), ({}, 1);"
          "CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER, hwId INTEGER, vmId INTEGER, "
          "processId INTEGER, deviceId INTEGER, contextId INTEGER);"
          "INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (7, 0, 1, 100, 0, 1), (7, 0, 1, 200, 1, 1)",
          kPid1 + 101, kPid2 + 201));
  EXPECT_EQ(TraceReader(file.path()).ReadRun(1).DeviceLabel(0), "GPU:0");
}

// Rank 3's GPU and process, then those of rank 5.
TEST_F(RanksTest, ExportsHaveRanksInOrder) {
  const Timeline timeline = MakeTimeline(Import("a.json", "b.json"));
  std::vector<std::string> names;
  for (const Timeline::Process& process : timeline.processes) names.push_back(process.name);
  EXPECT_THAT(names, testing::ElementsAre("rank 3 GPU:0", "rank 3: python3 (100)", "rank 5 GPU:0",
                                          "rank 5: python3 (100)"));
}

// A file alone is no job of several.
TEST_F(RanksTest, AFileAloneKeepsItsNames) {
  const std::string file = (out_.folder() / "a.json").string();
  std::ofstream(file) << OfRank(3);
  ImportTraces({file}, out_.path());
  const TraceRun run = TraceReader(out_.path()).ReadRun(1);
  EXPECT_EQ(run.DeviceLabel(0), "GPU:0");
  ASSERT_EQ(run.ranks.size(), 1u);
  EXPECT_EQ(run.ranks[0].rank, 3);
}

}  // namespace
}  // namespace lanescope::traces
