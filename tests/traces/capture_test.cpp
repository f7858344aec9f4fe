// SPDX-License-Identifier: Apache-2.0
// Captured activities on their way into the tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/record/recorder.h"
#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"
#include "traces/record/activity_rows.h"
#include "traces/record/launch_audit.h"
#include "traces/store/kernel_name.h"
#include "traces/store/schema.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

// A run of a foreign program, without graph and machine.
class CaptureTest : public testing::Test {
 protected:
  CaptureTest() : writer_(file_.path()) {
    RunInfo info;
    info.graph_name = "train.py";
    run_ = writer_.BeginRun(info);
    sink_ = writer_.Capture(run_);
    now_ = NowNs();
  }
  ActivityBatch Batch(uint32_t pid = 1000) const {
    ActivityBatch batch;
    batch.pid = pid;
    return batch;
  }
  KernelRow Kernel(ActivityBatch* batch, std::string_view name, int64_t start, int64_t end,
                   uint32_t correlation) const {
    KernelRow row;
    row.name = batch->AddText(name);
    row.start = now_ + start;
    row.end = now_ + end;
    row.correlation = correlation;
    row.stream = 7;
    return row;
  }
  ApiRow Call(ActivityBatch* batch, std::string_view name, int64_t start, uint32_t correlation,
              ApiKind kind) const {
    ApiRow row;
    row.name = batch->AddText(name);
    row.start = now_ + start;
    row.end = now_ + start + 10;
    row.correlation = correlation;
    row.thread = 55;
    row.kind = kind;
    row.launches = name.find("Launch") != std::string_view::npos ? 1 : 0;
    return row;
  }
  void Finish(const RunOutcome& outcome = {}) {
    writer_.EndRun(run_, outcome);
    writer_.Close();
    database_.emplace(file_.path(), OpenMode::kReadOnly);
  }
  int64_t Count(const std::string& sql) { return database_->QueryInteger(sql); }
  std::string Text(const std::string& sql) {
    Statement statement(*database_, sql);
    return statement.Step() ? std::string(statement.Text(0)) : "";
  }
  int64_t Lost(const std::string& what) {
    return Count("SELECT IFNULL(SUM(\"count\"), 0) FROM LANESCOPE_DROPPED WHERE what LIKE '" + what + "'");
  }

  ScratchFile file_;
  TraceWriter writer_;
  std::optional<Database> database_;
  ActivitySink* sink_ = nullptr;
  int run_ = 0;
  int64_t now_ = 0;
};

TEST_F(CaptureTest, KernelsAreStoredWithTheirNames) {
  ActivityBatch batch = Batch();
  batch.kernels.push_back(Kernel(&batch, "_ZN2at6native11copy_kernelILi4EfEEvPfi", 100, 300, 1));
  batch.kernels.back().graph_node = 12;
  sink_->Consume(batch);
  Finish();
  EXPECT_EQ(Text("SELECT value FROM StringIds s JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.demangledName = s.id"),
            "void at::native::copy_kernel<4, float>(float*, int)");
  EXPECT_EQ(Text("SELECT value FROM StringIds s JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.shortName = s.id"),
            "copy_kernel");
  EXPECT_EQ(Count("SELECT \"end\" - start FROM CUPTI_ACTIVITY_KIND_KERNEL"), 200);
  EXPECT_EQ(Count("SELECT graphNodeId FROM CUPTI_ACTIVITY_KIND_KERNEL"), 12);
  EXPECT_EQ(Count("SELECT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL"),
            (int64_t{run_} << 48) | (int64_t{1000} << 24));
  const TraceRun run = TraceReader(file_.path()).ReadRun(run_);
  ASSERT_EQ(run.launches.size(), 1u);
  EXPECT_EQ(run.info.graph, "train.py");
}

TEST(KernelNameTest, ShortNamesAreTheFunctionsOwn) {
  EXPECT_EQ(ShortKernelName("void a::b<int, (c)2>::d<float>(int, e<f>)"), "d");
  EXPECT_EQ(ShortKernelName("plain"), "plain");
  EXPECT_EQ(ShortKernelName("(anonymous namespace)::kernel<x>(y)"), "kernel");
  EXPECT_EQ(ShortKernelName("ampere_sgemm_128x64_tn"), "ampere_sgemm_128x64_tn");
  EXPECT_EQ(ShortKernelName(""), "");
  EXPECT_EQ(ShortKernelName(">>>"), ">>>");
  EXPECT_EQ(ShortKernelName("f<"), "f<");
  EXPECT_EQ(DemangledKernelName("_Zgarbage"), "_Zgarbage");
  EXPECT_EQ(DemangledKernelName("_Z" + std::string(100000, '1')), "_Z" + std::string(100000, '1'));
}

TEST_F(CaptureTest, ImpossibleTimesAreCountedAndNotStored) {
  ActivityBatch batch = Batch();
  batch.kernels.push_back(Kernel(&batch, "good", 100, 200, 1));
  batch.kernels.push_back(Kernel(&batch, "reversed", 300, 200, 2));
  batch.kernels.push_back(Kernel(&batch, "zero", 0, 0, 3));
  batch.kernels.back().start = batch.kernels.back().end = 0;
  batch.kernels.push_back(Kernel(&batch, "far", 0, 0, 4));
  batch.kernels.back().end = INT64_MAX;
  // Hours before the run. On a machine that has just started that is a negative time, which counts as none.
  constexpr int64_t kTwoHours = 7200ll * 1'000'000'000;
  const int64_t negative = now_ <= kTwoHours ? 1 : 0;
  batch.kernels.push_back(Kernel(&batch, "early", -kTwoHours, 0, 5));
  batch.Count(Loss::kDropped, 10);
  sink_->Consume(batch);
  Finish();
  EXPECT_EQ(Count("SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"), 1);
  EXPECT_EQ(Lost("records without times"), 1 + negative);
  EXPECT_EQ(Lost("records with impossible times"), 3 - negative);
  EXPECT_EQ(Lost("records dropped by the driver%"), 10);
  EXPECT_EQ(TraceReader(file_.path()).ReadRun(run_).dropped, 14);
}

// A runtime call and the driver call inside it are one row, that of the runtime; calls of the driver alone
// stay.
TEST_F(CaptureTest, TheDriverCallInsideARuntimeCallIsNotARowOfItsOwn) {
  ActivityBatch batch = Batch();
  batch.calls.push_back(Call(&batch, "cuLaunchKernel", 101, 1, ApiKind::kDriver));
  batch.calls.push_back(Call(&batch, "cudaLaunchKernel", 100, 1, ApiKind::kRuntime));
  batch.calls.push_back(Call(&batch, "cuLaunchKernelEx", 200, 2, ApiKind::kDriver));
  batch.calls.push_back(Call(&batch, "cudaMalloc", 300, 3, ApiKind::kRuntime));
  sink_->Consume(batch);
  ActivityBatch last = Batch();
  last.calls.push_back(Call(&last, "cuLaunchKernel", 400, 4, ApiKind::kDriver));
  sink_->Consume(last);
  Finish();
  EXPECT_EQ(
      Text(
          "SELECT group_concat(value) FROM (SELECT value FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s "
          "ON s.id = r.nameId ORDER BY r.start)"),
      "cudaLaunchKernel,cuLaunchKernelEx,cudaMalloc,cuLaunchKernel");
  EXPECT_EQ(Count("SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE eventClass = 1"), 2);
}

// Kernels 1 and 3 of the launches 1, 2, 3: launch 2 left none. Kernel 3 seems to begin 40 ns before its
// launch.
TEST_F(CaptureTest, LaunchesWithoutKernelsAndDisagreeingClocksAreStored) {
  ActivityBatch calls = Batch();
  for (uint32_t i = 1; i <= 3; ++i)
    calls.calls.push_back(Call(&calls, "cudaLaunchKernel", i * 100, i, ApiKind::kRuntime));
  ActivityBatch kernels = Batch();
  kernels.kernels.push_back(Kernel(&kernels, "k", 150, 160, 1));
  kernels.kernels.push_back(Kernel(&kernels, "k", 260, 270, 3));
  sink_->Consume(kernels);  // the order of buffers is not that of the calls
  sink_->Consume(calls);
  Finish();
  EXPECT_EQ(Lost("launches whose kernel%"), 1);
  EXPECT_EQ(Count("SELECT samples FROM LANESCOPE_CLOCK WHERE clock = 'gpu'"), 2);
  EXPECT_EQ(Count("SELECT violations FROM LANESCOPE_CLOCK WHERE clock = 'gpu'"), 1);
  EXPECT_EQ(Count("SELECT offset FROM LANESCOPE_CLOCK WHERE clock = 'gpu'"), 40);
}

TEST_F(CaptureTest, ClockReadingsAreStored) {
  ActivityBatch batch = Batch();
  ClockRow row;
  row.time = now_ + 5;
  row.offset = 123;
  row.uncertainty = 30;
  row.samples = 100;
  batch.clocks.push_back(row);
  sink_->Consume(batch);
  Finish();
  EXPECT_EQ(Count("SELECT COUNT(*) FROM LANESCOPE_CLOCK WHERE clock = 'capture' AND offset = 123 AND "
                  "uncertainty = 30 "
                  "AND samples = 100 AND corrected = 0 AND runId = 1"),
            1);
}

// Two processes use the same correlation ids; in the file they differ, and join within each process.
TEST_F(CaptureTest, CorrelationIdsOfProcessesAreKeptApart) {
  for (const uint32_t pid : {1000u, 2000u}) {
    ActivityBatch batch = Batch(pid);
    batch.program = batch.AddText("rank " + std::to_string(pid));
    batch.calls.push_back(Call(&batch, "cudaLaunchKernel", 100, 1, ApiKind::kRuntime));
    batch.kernels.push_back(Kernel(&batch, "k", 150, 160, 1));
    sink_->Consume(batch);
  }
  Finish();
  EXPECT_EQ(Count("SELECT COUNT(DISTINCT correlationId) FROM CUPTI_ACTIVITY_KIND_KERNEL"), 2);
  EXPECT_EQ(Count("SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON "
                  "r.correlationId = k.correlationId AND k.globalPid = r.globalTid & 0xFFFFFFFFFF000000"),
            2);
  EXPECT_EQ(Count("SELECT COUNT(*) FROM PROCESSES WHERE name LIKE 'rank %'"), 2);
}

// Each of two processes sees one GPU and calls it 0; they are different GPUs.
TEST_F(CaptureTest, GpusAreTheSameByTheirUuidAndNotByTheirNumber) {
  const auto batch_of = [&](uint32_t pid, std::string_view uuid) {
    ActivityBatch batch = Batch(pid);
    GpuRow gpu;
    gpu.uuid = batch.AddText(uuid);
    gpu.name = batch.AddText("NVIDIA Example");
    batch.gpus.push_back(gpu);
    batch.kernels.push_back(Kernel(&batch, "k", 100, 200, 1));
    return batch;
  };
  sink_->Consume(batch_of(1000, "GPU-a"));
  sink_->Consume(batch_of(2000, "GPU-b"));
  sink_->Consume(batch_of(3000, "GPU-a"));
  Finish();
  EXPECT_EQ(Text("SELECT group_concat(id || uuid) FROM TARGET_INFO_GPU"), "0GPU-a,1GPU-b");
  EXPECT_EQ(Text("SELECT group_concat(deviceId) FROM (SELECT deviceId FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER "
                 "BY rowid)"),
            "0,1,0");
}

TEST_F(CaptureTest, AnEndThatIsMissingMarksTheRunIncomplete) {
  RunOutcome outcome;
  outcome.incomplete = true;
  outcome.error = "Aborted: signal 9 ended the program";
  Finish(outcome);
  const TraceRunInfo info = TraceReader(file_.path()).RunInfoOf(run_);
  EXPECT_FALSE(info.complete);
  EXPECT_EQ(info.error, outcome.error);
}

// A file of the oldest version that is read takes what later ones have after it was opened for writing once.
TEST(CaptureSchemaTest, FilesOfTheOldestVersionAreBroughtUpToDate) {
  ScratchFile file;
  SampleRun sample;
  {
    TraceWriter writer(file.path());
    sample.WriteTo(&writer, 1);
    writer.Close();
  }
  {
    Database old(file.path(), OpenMode::kReadWrite);
    old.Execute(
        "DROP TABLE LANESCOPE_DISTURBANCE; DROP TABLE LANESCOPE_TASK; DROP TABLE LANESCOPE_UNTIMED_STEP; "
        "DROP TABLE LANESCOPE_TIMING; UPDATE LANESCOPE_SCHEMA SET version = 3; PRAGMA user_version=3");
  }
  EXPECT_EQ(TraceReader(file.path()).ReadRun(1).launches.size(), 3u);
  {
    TraceWriter writer(file.path());
    const int run = writer.BeginRun({});
    ActivityBatch batch;
    batch.pid = 1;
    NvtxRow row;
    row.start = NowNs();
    row.end = row.start + 1;
    row.type = 59;
    row.text = batch.AddText("range");
    batch.ranges.push_back(row);
    writer.Capture(run)->Consume(batch);
    writer.EndRun(run, {});
    writer.Close();
  }
  Database database(file.path(), OpenMode::kReadOnly);
  EXPECT_EQ(database.QueryInteger("SELECT COUNT(*) FROM NVTX_EVENTS"), 1);
  EXPECT_EQ(database.QueryInteger("SELECT COUNT(*) FROM LANESCOPE_TIMING"), 0);
  EXPECT_EQ(database.QueryInteger("SELECT version FROM LANESCOPE_SCHEMA"), kSchemaVersion);
  EXPECT_EQ(TraceReader(file.path()).Runs().size(), 2u);
}

}  // namespace
}  // namespace lanescope::traces
