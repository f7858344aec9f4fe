// Files of other profilers, made here with their truth beside them.
#include "traces/import/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/error.h"
#include "tests/traces/sample_run.h"
#include "traces/export/export.h"
#include "traces/export/wire_writer.h"
#include "traces/read/trace_reader.h"
#include "traces/report/summary.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

struct Imported {
  ImportCounts counts;
  TraceRun run;
  Summary summary;
};

Imported ImportOf(const std::string& path) {
  ScratchFile out("out.db");
  Imported imported;
  imported.counts = ImportTraces({path}, out.path());
  imported.run = TraceReader(out.path()).ReadRun(1);
  imported.summary = Summarize(out.path(), 1);
  return imported;
}

Code CodeOfImport(const std::string& path, const std::string& text = "") {
  ScratchFile out("out.db");
  try {
    ImportTraces({path}, out.path());
  } catch (const Error& error) {
    EXPECT_FALSE(std::filesystem::exists(out.path()));
    EXPECT_THAT(error.message(), testing::HasSubstr(text));
    return error.code();
  }
  return Code::kUnknown;
}

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

TEST(ImportTest, StepStatisticsOfTensorFlow) {
  ScratchFile in("step.pb");
  Write(in.path(), OneStep());
  ASSERT_EQ(FormatOf(in.path()), ImportFormat::kRunMetadata);
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
TEST(ImportTest, StepStatisticsInNanoseconds) {
  ScratchFile in("step.pb");
  WireWriter node = NodeStats("a", "a = NoOp()", 1, 1, 1);
  node.Signed(13, 1000).Signed(14, 671).Signed(15, 759).Signed(16, 800);
  Write(in.path(), RunMetadata({Device(kCpu, {node})}));
  const TraceRun run = ImportOf(in.path()).run;
  ASSERT_EQ(run.launches.size(), 1u);
  EXPECT_EQ(run.launches[0].end_ns - run.launches[0].start_ns, 88);
}

// Old files have no rows of single streams.
TEST(ImportTest, RowsOfAllStreamsCountWhereNoOthersDo) {
  ScratchFile in("step.pb");
  Write(in.path(), RunMetadata({Device("/gpu:0/stream:all", {NodeStats("y", kKernel, 120, 0, 30)}),
                                Device("/gpu:0/memcpy", {NodeStats("x:MEMCPYHtoD", "", 100, 0, 5)})}));
  const Imported imported = ImportOf(in.path());
  EXPECT_EQ(imported.counts.kernels, 1);
  EXPECT_EQ(imported.counts.copies, 1);
}

// A graph begins with the same byte.
TEST(ImportTest, AGraphIsNoStep) {
  ScratchFile in("graph.pb");
  Write(in.path(), WireWriter().Nested(1, WireWriter().Bytes(1, "x").Bytes(2, "Placeholder")).bytes());
  EXPECT_EQ(FormatOf(in.path()), ImportFormat::kNone);
  Write(in.path(), WireWriter().Nested(1, WireWriter().Bytes(1, "\x0a\x04/a:0").Bytes(2, "NoOp")).bytes());
  EXPECT_NE(CodeOfImport(in.path()), Code::kUnknown);
}

TEST(ImportTest, StepStatisticsWithoutUse) {
  ScratchFile in("step.pb");
  Write(in.path(), RunMetadata({Device(kCpu, {})}));
  EXPECT_EQ(CodeOfImport(in.path(), "no step statistics"), Code::kInvalidArgument);
  const std::string whole = OneStep();
  Write(in.path(), whole.substr(0, whole.size() - 3));
  EXPECT_NE(CodeOfImport(in.path()), Code::kUnknown);
  // Ends before it starts, and begins after all time.
  Write(in.path(),
        RunMetadata({Device(kCpu, {NodeStats("a", "", 5, 3, 1), NodeStats("b", "", INT64_MAX, 1, 2),
                                   NodeStats("c", "", 5, 0, 1)})}));
  const Imported imported = ImportOf(in.path());
  EXPECT_EQ(imported.counts.skipped, 2);
  EXPECT_EQ(imported.counts.kernels, 1);
}

// The same as TensorFlow's tools draw it.
TEST(ImportTest, TheTimelineOfTensorFlow) {
  ScratchFile in("timeline.json");
  Write(in.path(), R"json({"traceEvents": [
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

// Kernel "foo" of 40 ns launched by cudaLaunchKernel (211), a copy of 128 bytes to the GPU, one of 256 from
// GPU 0 to 1, an unknown call, and the range "step 1" around them in thread 0x1007.
void WriteNvprof(const std::string& path) {
  Database database(path, OpenMode::kCreate);
  database.Execute(R"sql(BEGIN;
CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringTable VALUES (1, '_Z3fooPf'), (2, 'step 1'), (3, 'Tesla V100');
CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (_id_ INTEGER PRIMARY KEY, registersPerThread INT, start INT, end INT,
  deviceId INT, contextId INT, streamId INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT,
  staticSharedMemory INT, dynamicSharedMemory INT, correlationId INT, name INT);
INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (1, 32, 1000100, 1000140, 0, 1, 7, 2, 1, 1, 64, 1, 1, 0, 16, 5, 1),
  (2, 32, 0, 0, 0, 1, 7, 2, 1, 1, 64, 1, 1, 0, 16, 6, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (_id_ INTEGER PRIMARY KEY, copyKind INT, srcKind INT, dstKind INT, bytes INT,
  start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 1, 2, 3, 128, 1000050, 1000060, 0, 1, 7, 4);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY2 (_id_ INTEGER PRIMARY KEY, copyKind INT, srcKind INT, dstKind INT, bytes INT,
  start INT, end INT, deviceId INT, contextId INT, streamId INT, srcDeviceId INT, dstDeviceId INT, correlationId INT);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY2 VALUES (1, 10, 3, 3, 256, 1000150, 1000160, 0, 1, 7, 0, 1, 8);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER PRIMARY KEY, cbid INT, start INT, end INT, processId INT,
  threadId INT, correlationId INT, returnValue INT);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 211, 1000080, 1000090, 77, 4103, 5, 0), (2, 9999, 1000091, 1000092, 77, 4103, 9, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (_id_ INTEGER PRIMARY KEY, flags INT, timestamp INT, id INT, objectKind INT,
  objectId BLOB, name INT, domain INT);
INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (1, 2, 1000000, 1, 2, x'4D000000' || x'0710000000000000', 2, 0),
  (2, 4, 1000200, 1, 2, x'4D0000000710000000000000', 0, 0), (3, 1, 1000100, 2, 2, x'4D0000000710000000000000', 2, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE (_id_ INTEGER PRIMARY KEY, id INT, name INT, globalMemorySize INT, numMultiprocessors INT);
INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE VALUES (1, 0, 3, 1000, 80);
COMMIT;)sql");
}

TEST(ImportTest, AFileOfNvprof) {
  ScratchFile in("a.nvprof");
  WriteNvprof(in.path());
  ASSERT_EQ(FormatOf(in.path()), ImportFormat::kNvprof);
  const auto [counts, run, summary] = ImportOf(in.path());
  EXPECT_EQ(counts.kernels, 1);
  EXPECT_EQ(counts.copies, 2);
  EXPECT_EQ(counts.skipped, 1);
  EXPECT_EQ(counts.left_out, (std::map<std::string, int64_t>{{"marks", 1}}));
  ASSERT_EQ(run.launches.size(), 1u);
  const TraceLaunch& kernel = run.launches[0];
  EXPECT_EQ(run.Text(kernel.name), "foo(float*)");
  EXPECT_EQ(run.Text(kernel.op), "foo");
  EXPECT_EQ(kernel.start_ns, 100);
  EXPECT_EQ(kernel.end_ns, 140);
  ASSERT_GE(kernel.api, 0);
  EXPECT_EQ(run.Text(run.api_calls[static_cast<size_t>(kernel.api)].name), "cudaLaunchKernel");
  ASSERT_GE(kernel.range, 0);
  EXPECT_EQ(run.Text(run.ranges[static_cast<size_t>(kernel.range)].text), "step 1");
  EXPECT_EQ(run.steps.size(), 1u);
  EXPECT_EQ(run.Text(run.api_calls.at(1).name), "runtime call 9999");
  EXPECT_EQ(run.devices.at(0).model, "Tesla V100");
  ASSERT_EQ(run.copies.size(), 2u);
  EXPECT_EQ(run.copies[0].copy_class, CopyClass::kHostToDevice);
  EXPECT_EQ(run.copies[1].copy_class, CopyClass::kDeviceToDevice);
  EXPECT_EQ(run.copies[1].dst, 1);
}

// A copy of 2 KB from 1 ms on, which takes 1.5 us, and a kernel of 2.25 us from 1.01 ms on.
TEST(ImportTest, WhatNvprofPrints) {
  ScratchFile in("print.csv");
  Write(in.path(), R"csv(==77== NVPROF is profiling process 77, command: ./a
==77== Profiling result:
"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread","Static SMem","Dynamic SMem","Size","Throughput","Device","Context","Stream","Name"
ms,us,,,,,,,,B,KB,KB,GB/s,,,,
1.000000,1.500000,,,,,,,,,,2.000000,1.333333,"Tesla K40c (1)","1","7","[CUDA memcpy HtoD]"
1.010000,2.250000,2,1,1,64,1,1,32,8,1,,,"Tesla K40c (1)","1","7","foo(float*, ""x"")"
x,2.250000,2,1,1,64,1,1,32,8,0,,,"Tesla K40c (1)","1","7","bar"
)csv");
  ASSERT_EQ(FormatOf(in.path()), ImportFormat::kNvprofText);
  const auto [counts, run, summary] = ImportOf(in.path());
  EXPECT_EQ(counts.skipped, 1);
  ASSERT_EQ(run.launches.size(), 1u);
  EXPECT_EQ(run.Text(run.launches[0].name), "foo(float*, \"x\")");
  EXPECT_EQ(run.launches[0].end_ns - run.launches[0].start_ns, 2250);
  ASSERT_EQ(run.copies.size(), 1u);
  EXPECT_EQ(run.copies[0].bytes, 2048);
  EXPECT_EQ(run.copies[0].device, 1);
  EXPECT_EQ(run.launches[0].start_ns - run.copies[0].start_ns, 10'000);
  EXPECT_EQ(run.FindDevice(1)->model, "Tesla K40c");
  Write(in.path(), "\"Start\",\"Duration\",\"Name\"\nfortnights,us,\n1,1,a\n");
  EXPECT_EQ(CodeOfImport(in.path(), "units"), Code::kDataLoss);
  Write(in.path(), "a,b\n1,2\n");
  EXPECT_EQ(FormatOf(in.path()), ImportFormat::kNone);
}

TEST(ImportTest, OtherDatabasesAreNotOfNvprof) {
  ScratchFile in("a.db");
  Database(in.path(), OpenMode::kCreate).Execute("CREATE TABLE StringTable (_id_ INT, value TEXT)");
  EXPECT_EQ(FormatOf(in.path()), ImportFormat::kNone);
  EXPECT_EQ(FormatOf(in.path() + " is not there"), ImportFormat::kNone);
}

WireWriter Attribute(std::string_view name, int field, int64_t value) {
  WireWriter attribute;
  return attribute.Bytes(1, name).Signed(field, value);
}
WireWriter ChakraNode(int id, std::string_view name, int type, int64_t start, int64_t length,
                      const std::vector<WireWriter>& attributes = {}) {
  WireWriter node;
  node.Integer(1, static_cast<uint64_t>(id))
      .Bytes(2, name)
      .Signed(3, type)
      .Signed(6, start)
      .Signed(7, length);
  for (const WireWriter& attribute : attributes) node.Nested(10, attribute);
  return node;
}

// An op of the processor 100-120, its kernel on stream 7 110-130, an all-reduce of 1,000 bytes 130-170 and a
// load 100-105.
TEST(ImportTest, AnExecutionTraceOfChakra) {
  ScratchFile in("job.3.et");
  WireWriter metadata;
  metadata.Bytes(1, "0.0.4");
  std::string bytes = metadata.Delimited();
  bytes += ChakraNode(1, "aten::mm", 4, 100, 20, {Attribute("is_cpu_op", 27, 1), Attribute("tid", 7, 9)})
               .Delimited();
  bytes += ChakraNode(2, "gemm", 4, 110, 20, {Attribute("is_cpu_op", 27, 0), Attribute("stream", 9, 7)})
               .Integer(5, 1)
               .Delimited();
  bytes +=
      ChakraNode(3, "gradients", 7, 130, 40, {Attribute("comm_type", 9, 0), Attribute("comm_size", 9, 1000)})
          .Delimited();
  bytes += ChakraNode(4, "load", 2, 100, 5, {Attribute("tensor_size", 13, 64)}).Delimited();
  bytes += ChakraNode(5, "about", 1, 0, 0).Delimited() + ChakraNode(6, "never", 4, 0, 10).Delimited();
  Write(in.path(), bytes);
  const auto [counts, run, summary] = ImportOf(in.path());
  EXPECT_EQ(counts.kernels, 2);
  EXPECT_EQ(counts.copies, 1);
  EXPECT_EQ(counts.ranges, 1);
  EXPECT_EQ(counts.collectives, 1);
  EXPECT_EQ(counts.skipped, 1);
  EXPECT_EQ(counts.left_out,
            (std::map<std::string, int64_t>{{"metadata nodes", 1}, {"nodes' dependencies", 1}}));
  ASSERT_EQ(run.launches.size(), 2u);
  EXPECT_EQ(run.Text(run.launches[0].name), "gemm");
  EXPECT_EQ(run.launches[0].stream, 7);
  EXPECT_EQ(run.Text(run.launches[1].name), "ncclAllReduce (gradients)");
  EXPECT_EQ(run.launches[1].end_ns - run.launches[1].start_ns, 40'000);
  ASSERT_EQ(run.collectives.size(), 1u);
  EXPECT_EQ(run.collectives[0].launch, 1);
  EXPECT_EQ(run.collectives[0].bytes, 1000);
  EXPECT_EQ(run.copies.at(0).bytes, 64);
  EXPECT_EQ(summary.devices.at(0).communication_ns, 40'000);
}

// A run written for Chakra and read again: kernels, copies and collectives of GPU 0 at the same ns, and no
// other GPU's. The call that launched the kernel and the kernel before on the stream are what it waits for.
TEST(ImportTest, ARunWrittenForChakra) {
  TraceRun run;
  run.texts = {"gemm", "ncclDevKernel_AllReduce", "cudaLaunchKernel", "allreduce"};
  TraceApiCall call;
  call.start_ns = 5;
  call.end_ns = 9;
  call.global_tid = 0x1000007;
  call.name = 2;
  run.api_calls.push_back(call);
  const auto launch = [&](int device, int name, int64_t start, int64_t end) {
    TraceLaunch kernel;
    kernel.device = device;
    kernel.stream = 7;
    kernel.name = kernel.op = name;
    kernel.start_ns = start;
    kernel.end_ns = end;
    run.launches.push_back(kernel);
  };
  launch(0, 0, 10, 1234);
  run.launches.back().api = 0;
  launch(0, 1, 1300, 1400);
  run.collectives.push_back({1, 3, 1000, 2});
  launch(1, 0, 10, 20);
  ScratchFile out("job.0.et");
  std::string bytes;
  WriteChakra(run, 0, [&](std::string_view part) { bytes += part; });
  Write(out.path(), bytes);
  const auto [counts, again, summary] = ImportOf(out.path());
  EXPECT_EQ(counts.ranges, 1);  // the call
  EXPECT_EQ(counts.left_out, (std::map<std::string, int64_t>{{"nodes' dependencies", 2}}));
  ASSERT_EQ(again.launches.size(), 2u);
  EXPECT_EQ(again.Text(again.launches[0].name), "gemm");
  EXPECT_EQ(again.launches[0].stream, 7);
  EXPECT_EQ(again.launches[0].end_ns - again.launches[0].start_ns, 1224);
  EXPECT_EQ(again.launches[1].start_ns - again.launches[0].end_ns, 66);
  ASSERT_EQ(again.collectives.size(), 1u);
  EXPECT_EQ(again.collectives[0].bytes, 1000);
  EXPECT_EQ(again.Text(again.collectives[0].kind), "AllReduce");
}

TEST(ImportTest, ChakraTracesWithoutTimesAreRefused) {
  ScratchFile in("job.et");
  Write(in.path(), WireWriter().Bytes(1, "0.0.4").Delimited() + ChakraNode(1, "a", 4, 0, 10).Delimited());
  EXPECT_EQ(CodeOfImport(in.path(), "says of no node when it ran"), Code::kInvalidArgument);
  Write(in.path(), WireWriter().Bytes(1, "0.0.4").Delimited() +
                       "\x7f"
                       "abc");
  EXPECT_EQ(CodeOfImport(in.path(), "no Chakra trace"), Code::kDataLoss);
  Write(in.path(), std::string(40, '\xff'));
  EXPECT_EQ(CodeOfImport(in.path()), Code::kDataLoss);
}

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

// Lines that begin at 1,000 ns: a kernel on stream 13 at 50 to 90 ns, launched by the call at 10 to 20 with
// the same correlation id; a copy of 64 bytes at 90 to 95; the step 4 of thread 8 around all. What the line
// of steps says is said by the thread.
TEST(ImportTest, AnXPlaneFile) {
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
  Write(in.path(), WireWriter().Nested(1, gpu).Nested(1, calls).Nested(1, threads).bytes());
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

TEST(ImportTest, XPlaneFilesWithoutUse) {
  ScratchFile in("vm.xplane.pb");
  Write(in.path(), "");
  EXPECT_EQ(CodeOfImport(in.path(), "no events"), Code::kInvalidArgument);
  Write(in.path(), "\x0a\x7fshort");
  EXPECT_EQ(CodeOfImport(in.path(), "damaged"), Code::kDataLoss);
}

}  // namespace
}  // namespace lanescope::traces
