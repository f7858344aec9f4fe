// SPDX-License-Identifier: Apache-2.0
// Facts of PyTorch's profiler beside times: names, shapes, call stacks, annotations on streams; and ROCm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/file.h"
#include "tests/traces/imported.h"
#include "tests/traces/sample_run.h"
#include "traces/export/report_page.h"
#include "traces/export/timeline.h"
#include "traces/import/import.h"
#include "traces/read/trace_reader.h"
#include "traces/report/launch_origins.h"
#include "traces/report/waits.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

constexpr const char* kDetails = R"json({"traceEvents": [
{"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "args": {"name": "python3"}},
{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python3"}},
{"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
{"ph": "M", "name": "thread_name", "pid": 100, "tid": 101, "args": {"name": "autograd"}},
{"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": "stream 7 \u001b[31mmain\u0000"}},
{"ph": "X", "cat": "python_function", "name": "train.py(3): main", "pid": 100, "tid": 101, "ts": 1, "dur": 90},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 100, "tid": 101, "ts": 10, "dur": 20,
 "args": {"Input Dims": [[64, 512], [512]], "Input type": ["float", "half"], "Call stack": "mm;main"}},
{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 100, "tid": 101, "ts": 31, "dur": 2,
 "args": {"Input Dims": [], "Call stack": ""}},
{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 100, "tid": 101, "ts": 12, "dur": 3,
 "args": {"correlation": 7}},
{"ph": "X", "cat": "cuda_runtime", "name": "hipMemcpyWithStream", "pid": 100, "tid": 101, "ts": 16, "dur": 3,
 "args": {"correlation": 8}},
{"ph": "X", "cat": "kernel", "name": "_ZN2at4fillIfEEvPT_.kd", "pid": 0, "tid": 7, "ts": 50, "dur": 40,
 "args": {"device": 0, "stream": 7, "correlation": 7}},
{"ph": "X", "cat": "gpu_memcpy", "name": "CopyHostToDevice", "pid": 0, "tid": 7, "ts": 95, "dur": 5,
 "args": {"device": 0, "stream": 7, "correlation": 8, "bytes": 64}},
{"ph": "X", "cat": "gpu_user_annotation", "name": "forward", "pid": 0, "tid": 7, "ts": 50, "dur": 45},
{"ph": "X", "cat": "cuda_profiler_range", "name": "gemm", "pid": 0, "tid": 7, "ts": 51, "dur": 9,
 "args": {"device": 0, "stream": 7, "sm__cycles_active.avg": 12.5, "flop": 8, "note": "x"}},
{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 1,
 "dur": 99, "args": {"Op count": 0}},
{"ph": "s", "cat": "fwdbwd", "id": 1, "pid": 100, "tid": 101, "ts": 12, "name": "fwdbwd"},
{"ph": "s", "cat": "ac2g", "id": 7, "pid": 100, "tid": 101, "ts": 12, "name": "ac2g"}]})json";

class KinetoDetailsTest : public testing::Test {
 protected:
  KinetoDetailsTest() : in_("in.json"), out_("out.db") {
    std::ofstream(in_.path(), std::ios::binary) << kDetails;
    counts_ = ImportTraces({in_.path()}, out_.path());
    run_ = TraceReader(out_.path()).ReadRun(1);
  }
  ScratchFile in_, out_;
  ImportCounts counts_;
  TraceRun run_;
};

TEST_F(KinetoDetailsTest, WhatIsLeftOutIsCounted) {
  const std::map<std::string, int64_t> left_out = {{"arrows (fwdbwd)", 1},
                                                   {"labels and orders for viewers", 1}};
  EXPECT_EQ(counts_.left_out, left_out);
  EXPECT_EQ(counts_.skipped, 0);
  EXPECT_EQ(counts_.ranges, 4);
  EXPECT_EQ(counts_.device_ranges, 2);
  EXPECT_EQ(counts_.operators, 1);
}

TEST_F(KinetoDetailsTest, ShapesAndCallersAreKept) {
  Database database(out_.path(), OpenMode::kReadOnly);
  Statement row(
      database,
      "SELECT o.value, s.value, t.value, c.value FROM LANESCOPE_OPERATOR JOIN NVTX_EVENTS n USING "
      "(eventId) JOIN StringIds o ON o.id = n.textId JOIN StringIds s ON s.id = shapes JOIN StringIds "
      "t ON t.id = types JOIN StringIds c ON c.id = callStack");
  ASSERT_TRUE(row.Step());
  EXPECT_EQ(row.Text(0), "aten::mm");
  EXPECT_EQ(row.Text(1), "[[64,512],[512]]");
  EXPECT_EQ(row.Text(2), R"(["float","half"])");
  EXPECT_EQ(row.Text(3), "mm;main");
  EXPECT_FALSE(row.Step());
}

TEST_F(KinetoDetailsTest, ThreadsStreamsAndProcessesHaveNames) {
  ASSERT_EQ(run_.threads.size(), 1u);
  EXPECT_EQ(run_.Text(run_.threads[0].name), "autograd");
  ASSERT_EQ(run_.streams.size(), 1u);
  EXPECT_EQ(run_.streams[0].stream, 7);
  EXPECT_TRUE(run_.Text(run_.streams[0].name).starts_with("stream 7 \x1b[31mmain"));
  Database database(out_.path(), OpenMode::kReadOnly);
  EXPECT_EQ(database.QueryInteger("SELECT count(*) FROM PROCESSES"), 2);
  // No command reaches a terminal.
  const std::string text = WaitsText(FindWaits(run_), 200);
  EXPECT_THAT(text, testing::HasSubstr("main"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\0'), std::string::npos);
}

TEST_F(KinetoDetailsTest, AnnotationsLieOnTheirStream) {
  ASSERT_EQ(run_.device_ranges.size(), 2u);
  const TraceDeviceRange& range = run_.device_ranges[0];
  EXPECT_EQ(run_.Text(range.text), "forward");
  EXPECT_EQ(range.end_ns - range.start_ns, 45'000);
  EXPECT_EQ(range.stream, 7);
}

TEST_F(KinetoDetailsTest, ExportsHaveAnnotationsBesideTheirStream) {
  const Timeline timeline = MakeTimeline(run_);
  std::vector<std::string> tracks;
  for (const Timeline::Track& track : timeline.tracks) {
    if (timeline.processes[static_cast<size_t>(track.process)].name == "GPU:0") tracks.push_back(track.name);
  }
  EXPECT_THAT(tracks, testing::ElementsAre("stream 7", "stream 7 annotations"));
}

// CUPTI's range profiler counts inside ranges: numbers that are no place.
TEST_F(KinetoDetailsTest, ProfilerRangesHaveTheirCounters) {
  ASSERT_EQ(run_.device_ranges.size(), 2u);
  const TraceDeviceRange& range = run_.device_ranges[1];
  EXPECT_EQ(run_.Text(range.text), "gemm");
  EXPECT_EQ(run_.Text(range.counted), R"({"flop":8,"sm__cycles_active.avg":12.5})");
  EXPECT_EQ(run_.device_ranges[0].counted, -1);
}

// The profiler's own span stands in a process of its own: it is around no call of the program.
TEST_F(KinetoDetailsTest, TheProfilersSpanIsARangeOfItsOwnProcess) {
  const auto span = std::ranges::find_if(
      run_.ranges, [&](const TraceRange& range) { return run_.Text(range.text) == "PyTorch Profiler (0)"; });
  ASSERT_NE(span, run_.ranges.end());
  EXPECT_EQ(span->end_ns - span->start_ns, 99'000);
  EXPECT_THAT(run_.ProcessLabel(GlobalPidOf(span->global_tid)), testing::StartsWith("Spans"));
  for (const TraceApiCall& call : run_.api_calls)
    EXPECT_NE(GlobalPidOf(call.global_tid), GlobalPidOf(span->global_tid));
  // The page of a report has no row for it.
  const std::string page = TimelineData(run_, 1000);
  EXPECT_THAT(page, testing::HasSubstr("aten::mm"));
  EXPECT_THAT(page, testing::Not(testing::HasSubstr("PyTorch Profiler (0)")));
}

TEST_F(KinetoDetailsTest, RangesKnowTheirOperators) {
  ASSERT_EQ(run_.launches.size(), 1u);
  const LaunchOrigins origins(run_);
  const LaunchOrigin* origin = origins.Find("void at::fill<float>(float*)");
  ASSERT_NE(origin, nullptr);
  EXPECT_EQ(OriginText(*origin), "aten::mm of [[64,512],[512]] (float, half)");
  EXPECT_EQ(CallersText(*origin), "mm < main");
}

TEST_F(KinetoDetailsTest, KernelsOfRocmHaveTheirNames) {
  ASSERT_EQ(run_.launches.size(), 1u);
  EXPECT_EQ(run_.Text(run_.launches[0].name), "void at::fill<float>(float*)");
  EXPECT_EQ(run_.Text(run_.launches[0].op), "fill");
  ASSERT_GE(run_.launches[0].api, 0);
  ASSERT_EQ(run_.copies.size(), 1u);
  EXPECT_EQ(run_.copies[0].copy_class, CopyClass::kHostToDevice);
  EXPECT_EQ(run_.copies[0].bytes, 64);
}

// A program that used no GPU: two operators of 30 us and one of 50 us on one thread, in 100 us.
TEST(KinetoHostTest, ATraceOfTheHostAlone) {
  ScratchFile in("in.json");
  WriteFile(in.path(), R"([
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 30},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 40, "dur": 30},
{"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 50, "dur": 50}])");
  const Imported imported = ImportOf(in.path());
  const Summary& summary = imported.summary;
  ASSERT_EQ(summary.nvtx_sums.size(), 2u);
  EXPECT_EQ(summary.nvtx_sums[0].name, "aten::mm");
  EXPECT_EQ(summary.nvtx_sums[0].total, 60'000);
  EXPECT_EQ(
      summary.verdict,
      "Nothing ran on a device. The host has 3 ranges on 1 thread in 100 us; aten::mm takes the most time "
      "(60 us in 2 calls).");
  EXPECT_THAT(SummaryText(summary), testing::HasSubstr("aten::relu"));
  EXPECT_THAT(SummaryCsv(summary, {}, true), testing::HasSubstr("aten::relu"));
}

}  // namespace
}  // namespace lanescope::traces
