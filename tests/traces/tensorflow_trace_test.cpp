// SPDX-License-Identifier: Apache-2.0
// Files of TensorFlow: step statistics, its timeline, XPlane files. Made here with their truth beside
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/protobuf_wire.h"
#include "tests/traces/imported.h"
#include "traces/export/export.h"
#include "traces/import/import.h"
#include "traces/read/trace_reader.h"
#include "traces/report/summary.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

// NodeExecStats in microseconds, as TensorFlow 1 wrote them.
WireWriter NodeStats(std::string_view name, std::string_view label, int64_t start, int64_t from,
                     int64_t until, int thread = 0) {
  WireWriter node;
  node.Bytes(1, name).Signed(2, start).Signed(3, from).Signed(4, until).Signed(5, until + 1);
  return node.Bytes(8, label).Signed(10, thread);
}
WireWriter Device(std::string_view name, const std::vector<WireWriter>& nodes) {
  WireWriter device;
  device.Bytes(1, name);
  for (const WireWriter& node : nodes) device.Nested(2, node);
  return device;
}
std::string RunMetadata(const std::vector<WireWriter>& devices) {
  WireWriter stats;
  for (const WireWriter& device : devices) stats.Nested(1, device);
  return WireWriter().Nested(1, stats).bytes();
}

constexpr std::string_view kCpu = "/job:localhost/replica:0/task:0/device:CPU:0";
constexpr std::string_view kKernel =
    "void gemm<4>(float*) regs:32 static_shared:8 dynamic_shared:64 grid:2,3,1 block:128,1,1";

// x on the CPU 100-110; its copy of 64 bytes 115-120, the kernel of y on stream 7 of GPU 0 120-150, which the
// GPU's other rows say once more. y was handed over by thread 3, 102-104.
std::string OneStep() {
  const auto copy = NodeStats("x:MemcpyH2D", "MemcpyH2D size:64 async:1", 115, 0, 5);
  const auto kernel = NodeStats("y:MatMul", kKernel, 120, 0, 30);
  return RunMetadata(
      {Device(kCpu, {NodeStats("x", "x = Placeholder()", 99, 1, 11, 5)}),
       Device("/job:localhost/replica:0/task:0/device:GPU:0",
              {NodeStats("y", "y = MatMul(x, w)", 100, 2, 4, 3)}),
       Device("/device:GPU:0/stream:7", {kernel}), Device("/device:GPU:0/stream:all", {kernel}),
       Device("/device:GPU:0/stream:7<MemcpyH2D>", {copy}), Device("/device:GPU:0/memcpy", {copy})});
}

TEST(TensorFlowTraceTest, StepStatisticsOfTensorFlow) {
  ScratchFile in("step.pb");
  WriteFile(in.path(), OneStep());
  ASSERT_EQ(FormatOf(in.path()), "RunMetadata");
  const auto [counts, run, summary] = ImportOf(in.path());
  EXPECT_EQ(counts.kernels, 2);
  EXPECT_EQ(counts.copies, 1);
  EXPECT_EQ(counts.ranges, 1);
  ASSERT_EQ(run.launches.size(), 2u);
  const TraceLaunch &x = run.launches[0], &y = run.launches[1];
  EXPECT_EQ(run.Text(x.name), "x");
  EXPECT_EQ(run.Text(x.op), "Placeholder");
  EXPECT_EQ(run.DeviceLabel(x.device), "CPU:0");
  EXPECT_TRUE(run.FindDevice(x.device)->is_host);
  EXPECT_EQ(x.end_ns - x.start_ns, 10'000);
  EXPECT_EQ(run.Text(y.name), "void gemm<4>(float*)");
  EXPECT_EQ(run.Text(y.op), "y:MatMul");
  EXPECT_EQ(y.stream, 7);
  EXPECT_EQ(y.start_ns - x.start_ns, 20'000);
  ASSERT_EQ(run.copies.size(), 1u);
  EXPECT_EQ(run.copies[0].bytes, 64);
  EXPECT_EQ(run.copies[0].copy_class, CopyClass::kHostToDevice);
  ASSERT_EQ(summary.host_activities.size(), 1u);
  EXPECT_EQ(summary.host_activities[0].total_ns, 10'000);
  EXPECT_EQ(summary.gpu_activities.at(0).total_ns, 30'000);
}

// Times in ns are taken where there are any: 1000 + 671 to 1000 + 759.
TEST(TensorFlowTraceTest, StepStatisticsInNanoseconds) {
  ScratchFile in("step.pb");
  WireWriter node = NodeStats("a", "a = NoOp()", 1, 1, 1);
  node.Signed(13, 1000).Signed(14, 671).Signed(15, 759).Signed(16, 800);
  WriteFile(in.path(), RunMetadata({Device(kCpu, {node})}));
  const TraceRun run = ImportOf(in.path()).run;
  ASSERT_EQ(run.launches.size(), 1u);
  EXPECT_EQ(run.launches[0].end_ns - run.launches[0].start_ns, 88);
}

// Old files have no rows of single streams.
TEST(TensorFlowTraceTest, RowsOfAllStreamsCountWhereNoOthersDo) {
  ScratchFile in("step.pb");
  WriteFile(in.path(), RunMetadata({Device("/gpu:0/stream:all", {NodeStats("y", kKernel, 120, 0, 30)}),
                                    Device("/gpu:0/memcpy", {NodeStats("x:MEMCPYHtoD", "", 100, 0, 5)})}));
  const Imported imported = ImportOf(in.path());
  EXPECT_EQ(imported.counts.kernels, 1);
  EXPECT_EQ(imported.counts.copies, 1);
}

// A graph begins with the same byte.
TEST(TensorFlowTraceTest, AGraphIsNoStep) {
  ScratchFile in("graph.pb");
  WriteFile(in.path(), WireWriter().Nested(1, WireWriter().Bytes(1, "x").Bytes(2, "Placeholder")).bytes());
  EXPECT_EQ(FormatOf(in.path()), "");
  WriteFile(in.path(),
            WireWriter().Nested(1, WireWriter().Bytes(1, "\x0a\x04/a:0").Bytes(2, "NoOp")).bytes());
  EXPECT_NE(CodeOfImport(in.path()), Code::kUnknown);
}

TEST(TensorFlowTraceTest, StepStatisticsWithoutUse) {
  ScratchFile in("step.pb");
  WriteFile(in.path(), RunMetadata({Device(kCpu, {})}));
  EXPECT_EQ(CodeOfImport(in.path(), "no step statistics"), Code::kInvalidArgument);
  const std::string whole = OneStep();
  WriteFile(in.path(), whole.substr(0, whole.size() - 3));
  EXPECT_NE(CodeOfImport(in.path()), Code::kUnknown);
  // Ends before it starts, and begins after all time.
  WriteFile(in.path(),
            RunMetadata({Device(kCpu, {NodeStats("a", "", 5, 3, 1), NodeStats("b", "", INT64_MAX, 1, 2),
                                       NodeStats("c", "", 5, 0, 1)})}));
  const Imported imported = ImportOf(in.path());
  EXPECT_EQ(imported.counts.skipped, 2);
  EXPECT_EQ(imported.counts.kernels, 1);
}

// The trace as TensorFlow's tools draw it.
TEST(TensorFlowTraceTest, TheTimelineOfTensorFlow) {
  ScratchFile in("timeline.json");
  WriteFile(in.path(), R"json({"traceEvents": [
{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "/job:localhost/replica:0/task:0/device:CPU:0 Compute"}},
{"name": "process_name", "ph": "M", "pid": 2, "args": {"name": "/device:GPU:0/stream:7 Compute"}},
{"ph": "X", "cat": "Op", "name": "Placeholder", "pid": 1, "tid": 0, "ts": 100, "dur": 10, "args": {"name": "x", "op": "Placeholder"}},
{"ph": "X", "cat": "Op", "name": "MatMul", "pid": 2, "tid": 0, "ts": 120, "dur": 30, "args": {"name": "y", "op": "MatMul"}},
{"ph": "s", "cat": "DataFlow", "name": "x", "pid": 1, "tid": 0, "ts": 110, "id": 1}]})json");
  const auto [counts, run, summary] = ImportOf(in.path());
  ASSERT_EQ(run.launches.size(), 2u);
  EXPECT_EQ(run.DeviceLabel(run.launches[0].device), "CPU:0");
  EXPECT_EQ(run.Text(run.launches[0].name), "x");
  EXPECT_EQ(run.Text(run.launches[0].op), "Placeholder");
  EXPECT_EQ(run.DeviceLabel(run.launches[1].device), "GPU:0");
  EXPECT_EQ(summary.host_activities.at(0).total_ns, 10'000);
}

// Lines that begin at 1,000 ns: a kernel on stream 13 at 50 to 90 ns, launched by the call at 10 to 20 with
// the same correlation id; a copy of 64 bytes at 90 to 95; the step 4 of thread 8 around all. What the line
// of steps says is said by the thread.
WireWriter NamedEntry(int64_t key, std::string_view name) {
  return WireWriter().Signed(1, key).Nested(2, WireWriter().Signed(1, key).Bytes(2, name));
}
WireWriter XEvent(int64_t metadata, int64_t offset_ps, int64_t length_ps,
                  const std::vector<WireWriter>& stats = {}) {
  WireWriter event;
  event.Signed(1, metadata).Signed(2, offset_ps).Signed(3, length_ps);
  for (const WireWriter& stat : stats) event.Nested(4, stat);
  return event;
}

TEST(TensorFlowTraceTest, AnXPlaneFile) {
  WireWriter gpu;
  gpu.Signed(1, 1).Bytes(2, "/device:GPU:0");
  gpu.Nested(4, NamedEntry(1, "gemm")).Nested(4, NamedEntry(2, "MemcpyH2D")).Nested(4, NamedEntry(3, "4"));
  gpu.Nested(5, NamedEntry(1, "correlation_id")).Nested(5, NamedEntry(2, "kernel_details"));
  gpu.Nested(5, NamedEntry(3, "memcpy_details")).Nested(5, NamedEntry(4, "regs:32 grid:2,1,1 block:64,1,1"));
  WireWriter stream;
  stream.Signed(1, 13).Bytes(2, "Stream #13(Compute)").Signed(3, 1000);
  stream.Nested(4, XEvent(1, 50'000, 40'000,
                          {WireWriter().Signed(1, 1).Signed(4, 5), WireWriter().Signed(1, 2).Signed(7, 4)}));
  stream.Nested(
      4, XEvent(2, 90'000, 5'000, {WireWriter().Signed(1, 3).Bytes(5, "kind_src:pinned size:64 dest:0")}));
  WireWriter steps;
  steps.Signed(1, 99).Bytes(2, "Steps").Signed(3, 1000).Nested(4, XEvent(3, 0, 100'000));
  gpu.Nested(3, stream).Nested(3, steps);
  WireWriter calls;
  calls.Bytes(2, "/host:CUPTI")
      .Nested(4, NamedEntry(1, "cuLaunchKernel"))
      .Nested(5, NamedEntry(1, "correlation_id"));
  calls.Nested(3, WireWriter().Signed(1, 8).Signed(3, 1000).Nested(
                      4, XEvent(1, 10'000, 10'000, {WireWriter().Signed(1, 1).Signed(3, 5)})));
  WireWriter threads;
  threads.Bytes(2, "/host:CPU").Nested(4, NamedEntry(1, "train_step")).Nested(5, NamedEntry(1, "step_num"));
  threads.Nested(3, WireWriter()
                        .Signed(1, 8)
                        .Bytes(2, "python")
                        .Signed(3, 1000)
                        .Nested(4, XEvent(1, 0, 100'000, {WireWriter().Signed(1, 1).Signed(4, 4)})));
  ScratchFile in("vm.xplane.pb");
  WriteFile(in.path(), WireWriter().Nested(1, gpu).Nested(1, calls).Nested(1, threads).bytes());
  const auto [counts, run, summary] = ImportOf(in.path());
  EXPECT_EQ(counts.left_out, (std::map<std::string, int64_t>{{"Steps", 1}}));
  ASSERT_EQ(run.launches.size(), 1u);
  const TraceLaunch& kernel = run.launches[0];
  EXPECT_EQ(kernel.start_ns, 50);
  EXPECT_EQ(kernel.end_ns, 90);
  EXPECT_EQ(kernel.stream, 13);
  ASSERT_GE(kernel.api, 0);
  EXPECT_EQ(run.Text(run.api_calls[static_cast<size_t>(kernel.api)].name), "cuLaunchKernel");
  EXPECT_EQ(run.copies.at(0).bytes, 64);
  ASSERT_EQ(run.ranges.size(), 1u);
  EXPECT_EQ(run.Text(run.ranges[0].text), "step 4");
  EXPECT_EQ(run.Text(run.threads.at(0).name), "python");
}

TEST(TensorFlowTraceTest, XPlaneFilesWithoutUse) {
  ScratchFile in("vm.xplane.pb");
  WriteFile(in.path(), "");
  EXPECT_EQ(CodeOfImport(in.path(), "no events"), Code::kInvalidArgument);
  WriteFile(in.path(), "\x0a\x7fshort");
  EXPECT_EQ(CodeOfImport(in.path(), "damaged"), Code::kDataLoss);
}

}  // namespace
}  // namespace lanescope::traces
