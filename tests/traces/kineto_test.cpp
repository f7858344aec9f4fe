// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <iterator>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/runs/run_profile.h"
#include "core/runs/step_path.h"
#include "tests/traces/sample_run.h"
#include "tests/traces/shared_traces.h"
#include "traces/import/import.h"
#include "traces/import/kineto_events.h"
#include "traces/read/step_ranges.h"
#include "traces/read/synchronizations.h"
#include "traces/read/trace_reader.h"
#include "traces/read/trace_view.h"
#include "traces/report/advice.h"
#include "traces/report/summary.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

constexpr const char* kTrace = R"json({"schemaVersion": 1,
"deviceProperties": [{"id": 0, "name": "Card", "totalGlobalMem": 1000, "numSms": 4}],
"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 100, "tid": 100,
 "ts": 1694128201000000, "dur": 100},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 100, "tid": 101, "ts": 1694128201000010, "dur": 20.5},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 101,
 "ts": 1694128201000012.25, "dur": 3, "args": {"correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1694128201000050, "dur": 40,
 "args": {"device": 0, "stream": 7, "correlation": 7}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7,
 "ts": 1694128201000090, "dur": 5, "args": {"device": 0, "stream": 7, "correlation": 8, "bytes": 64}},
{"ph": "X", "cat": "kernel", "name": "broken", "pid": 0, "tid": 7, "ts": "x", "dur": 40},
{"ph": "i", "cat": "cpu_op", "name": "instant", "ts": 1}
], "traceName": "x"})json";

Code CodeOfKineto(const std::string& text) {
  ScratchFile in("in.json"), out("out.db");
  WriteFile(in.path(), text);
  try {
    ImportTraces({in.path()}, out.path());
  } catch (const Error& error) {
    EXPECT_FALSE(std::filesystem::exists(out.path()));
    return error.code();
  }
  return Code::kUnknown;
}

TEST(KinetoTest, EventsBecomeAnExport) {
  ScratchFile in("in.json"), out("out.db");
  WriteFile(in.path(), kTrace);
  const ImportCounts counts = ImportTraces({in.path()}, out.path());
  EXPECT_EQ(counts.kernels, 1);
  EXPECT_EQ(counts.copies, 1);
  EXPECT_EQ(counts.api_calls, 1);
  EXPECT_EQ(counts.ranges, 2);
  EXPECT_EQ(counts.skipped, 1);
  const TraceRun run = TraceReader(out.path()).ReadRun(1);
  ASSERT_EQ(run.launches.size(), 1u);
  const TraceLaunch& launch = run.launches[0];
  EXPECT_EQ(launch.start_ns, 50'000);  // time zero is the first event
  EXPECT_EQ(launch.end_ns, 90'000);
  ASSERT_GE(launch.range, 0);
  EXPECT_EQ(run.Text(run.ranges[static_cast<size_t>(launch.range)].text), "aten::mm");
  EXPECT_EQ(run.api_calls.at(0).start_ns, 12'250);
  EXPECT_EQ(run.ranges.at(1).end_ns, 30'500);
  ASSERT_EQ(run.steps.size(), 1u);
  EXPECT_EQ(run.steps[0].step, 3);
  EXPECT_EQ(run.copies.at(0).copy_class, CopyClass::kHostToDevice);
  EXPECT_EQ(run.devices.at(0).model, "Card");
}

// One rank with a kernel on what it calls device 0.
std::string OneRank(int rank) {
  return fmt::format(R"json({{"distributedInfo": {{"rank": {}}},
"deviceProperties": [{{"id": 0, "name": "Card"}}, {{"id": 1, "name": "Card"}}],
"traceEvents": [
{{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": {}, "dur": 2, "args": {{"device": 0}}}}]}})json",
                     rank, 5 + rank);
}

// Law: two ranks that both see device 0 are two GPUs.
TEST(KinetoTest, RanksAreDevicesOfTheirOwn) {
  ScratchFile first("a.json"), second("b.json"), out("out.db");
  WriteFile(first.path(), OneRank(3));
  WriteFile(second.path(), OneRank(5));
  ImportTraces({first.path(), second.path()}, out.path());
  const TraceRun run = TraceReader(out.path()).ReadRun(1);
  ASSERT_EQ(run.launches.size(), 2u);
  EXPECT_NE(run.launches[0].device, run.launches[1].device);
  ASSERT_EQ(run.devices.size(), 2u);
  EXPECT_EQ(run.DeviceLabel(run.devices[0].id), "rank 3 GPU:0");
  EXPECT_EQ(run.DeviceLabel(run.devices[1].id), "rank 5 GPU:0");
  EXPECT_EQ(run.devices[1].model, "Card");
  EXPECT_EQ(Summarize(out.path(), 1).communication.devices, 2);
}

TEST(KinetoTest, ARankThatIsNamedTwiceIsRefused) {
  ScratchFile first("a.json"), second("b.json"), out("out.db");
  WriteFile(first.path(), OneRank(3));
  WriteFile(second.path(), OneRank(3));
  const auto message = [&](const std::string& other) -> std::string {
    try {
      ImportTraces({first.path(), other}, out.path());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      return error.message();
    }
    return "";
  };
  EXPECT_NE(message(first.path()).find("is named twice"), std::string::npos);
  EXPECT_NE(message(first.folder().string() + "/./a.json").find("is named twice"), std::string::npos);
  EXPECT_NE(message(second.path()).find("both of rank 3"), std::string::npos);
}

// Law: what has no place in the export is counted by category; threads keep their names.
TEST(KinetoTest, WhatIsLeftOutIsCounted) {
  ScratchFile in("in.json"), out("out.db");
  WriteFile(in.path(), R"json([
{"ph": "M", "name": "thread_name", "pid": 9, "tid": 8, "args": {"name": "autograd"}},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 2, "args": {}},
{"ph": "X", "cat": "overhead", "name": "f", "ts": 5, "dur": 2},
{"ph": "X", "cat": "overhead", "name": "g", "ts": 8, "dur": 2},
{"ph": "i", "name": "[memory]", "ts": 8},
{"ph": "s", "cat": "ac2g", "id": 1, "ts": 8}])json");
  const ImportCounts counts = ImportTraces({in.path()}, out.path());
  EXPECT_EQ(counts.left_out, (std::map<std::string, int64_t>{{"[memory]", 1}}));
  EXPECT_EQ(counts.overheads, 2);
  const TraceRun run = TraceReader(out.path()).ReadRun(1);
  ASSERT_EQ(run.threads.size(), 1u);
  EXPECT_EQ(run.Text(run.threads[0].name), "autograd");
}

// Stream 8 waits for the event that call 2 recorded on stream 7; call 4 waits for all.
TEST(KinetoTest, SynchronisationsSayWhatTheyWaitFor) {
  ScratchFile in("in.json"), out("out.db");
  WriteFile(in.path(), R"json([
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 2, "args": {"device": 0, "stream": 7}},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "ts": 5, "dur": 0, "pid": 0, "tid": 8, "args": {
 "stream": 8, "device": 0, "correlation": 3, "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 2,
 "wait_on_cuda_event_id": 40}},
{"ph": "X", "cat": "cuda_sync", "name": "Context Sync", "ts": 8, "dur": 2, "args": {
 "stream": 4294967295, "device": 0, "correlation": 4}}])json");
  EXPECT_EQ(ImportTraces({in.path()}, out.path()).synchronizations, 2);
  TraceReader reader(out.path());
  const std::vector<TraceSynchronization> syncs = ReadSynchronizations(reader, 1);
  ASSERT_EQ(syncs.size(), 2u);
  EXPECT_EQ(syncs[0].kind, TraceSynchronization::Kind::kStreamWaits);
  EXPECT_EQ(syncs[0].stream, 8);
  EXPECT_EQ(syncs[0].correlation, 3);
  EXPECT_EQ(syncs[0].recorded_by, 2);
  EXPECT_EQ(syncs[0].recorded_on, 7);
  EXPECT_EQ(syncs[1].kind, TraceSynchronization::Kind::kContext);
  EXPECT_EQ(syncs[1].correlation, 4);
  EXPECT_EQ(syncs[1].recorded_on, -1);
}

// Busy 0-200 and 990-1000. cudaStreamSynchronize takes longest, but beside the first kernel; in the time in
// which nothing runs it is cudaMalloc. How much was copied nobody says.
TEST(KinetoTest, CallsCountWhereNothingRuns) {
  ScratchFile in("in.json"), out("out.db");
  WriteFile(in.path(), R"json([
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 0, "dur": 200, "args": {"device": 0, "stream": 7}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": 990,
 "dur": 10, "args": {"device": 0, "stream": 7}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 1, "tid": 1, "ts": 0, "dur": 200,
 "args": {"correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaMalloc", "pid": 1, "tid": 1, "ts": 300, "dur": 100,
 "args": {"correlation": 2}}])json");
  ImportTraces({in.path()}, out.path());
  const Summary summary = Summarize(out.path(), 1);
  EXPECT_EQ(summary.verdict,
            "idle bound: nothing runs for 79% of the window, kernels 20%, copies 1.0%; of the API calls "
            "cudaMalloc takes the most of that time (100 us).");
  EXPECT_NE(SummaryText(summary).find("? (1)"), std::string::npos);
  EXPECT_NE(SummaryJson(summary).find("\"bytes\": null"), std::string::npos);
  SummaryOptions in_memory;
  in_memory.waits = true;
  EXPECT_EQ(Summarize(out.path(), 1, in_memory).verdict, summary.verdict);
}

// Busy 0-400 with 300 of NCCL and 100 of a gemm, idle 400-600. cudaStreamSynchronize takes longest, but
// beside kernels; the call that matters is cudaMalloc, the kernel that matters the gemm.
TEST(KinetoTest, AdviceNamesWhatMatters) {
  ScratchFile in("in.json"), out("out.db");
  WriteFile(in.path(), R"json([
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7, "ts": 0, "dur": 300, "args": {"device": 0, "stream": 7}},
{"ph": "X", "cat": "kernel", "name": "void gemm<4>(float*)", "pid": 0, "tid": 7, "ts": 300, "dur": 100, "args": {"device": 0, "stream": 7}},
{"ph": "X", "cat": "kernel", "name": "void gemm<4>(float*)", "pid": 0, "tid": 7, "ts": 600, "dur": 200, "args": {"device": 0, "stream": 7}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 1, "tid": 1, "ts": 0, "dur": 390,
 "args": {"correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaMalloc", "pid": 1, "tid": 1, "ts": 450, "dur": 50,
 "args": {"correlation": 2}}])json");
  ImportTraces({in.path()}, out.path());
  SummaryOptions options;
  options.idle_call = true;
  const std::vector<std::string> advice = AdviceOf(Summarize(out.path(), 1, options));
  ASSERT_EQ(advice.size(), 3u);
  EXPECT_NE(advice[1].find("cudaMalloc takes the most of that (50 us)"), std::string::npos) << advice[1];
  EXPECT_NE(advice[2].find("gemm takes 100% of what computes, in 2 launches"), std::string::npos)
      << advice[2];
  // Without being asked for, of a run that idle time does not decide, no pass over calls is made.
  EXPECT_EQ(Summarize(out.path(), 1).idle_call, "");
}

// The allocator's total of GPU 1; what is not a GPU's is left out.
TEST(KinetoTest, MemoryOverTime) {
  ScratchFile in("in.json"), out("out.db");
  WriteFile(in.path(), R"json([
{"ph": "X", "cat": "kernel", "name": "k", "pid": 1, "tid": 7, "ts": 5, "dur": 2, "args": {"device": 1, "stream": 7}},
{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": 6, "args": {
 "Total Allocated": 512, "Device Type": 1, "Device Id": 1, "Bytes": 512}},
{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": 8, "args": {
 "Total Allocated": 100, "Device Type": 0, "Device Id": -1, "Bytes": 100}}])json");
  const ImportCounts counts = ImportTraces({in.path()}, out.path());
  EXPECT_EQ(counts.memory, 1);
  EXPECT_EQ(counts.left_out, (std::map<std::string, int64_t>{{"cpu_instant_event", 1}}));
  const TraceRun run = TraceReader(out.path()).ReadRun(1);
  ASSERT_EQ(run.memory.size(), 1u);
  EXPECT_EQ(run.memory[0].device, 1);
  EXPECT_EQ(run.memory[0].time_ns, 1000);
  EXPECT_EQ(run.memory[0].bytes, 512);
}

// 1,024 elements go in and 512 come out, of 2 bytes each. How the kernel was launched is kept, too.
TEST(KinetoTest, WhatCollectivesMove) {
  ScratchFile in("in.json"), out("out.db");
  WriteFile(in.path(), R"json([
{"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "python"}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_ReduceScatter", "pid": 0, "tid": 7, "ts": 5, "dur": 2, "args": {
 "device": 0, "stream": 7, "correlation": 3, "grid": [2, 3, 1], "block": [64, 1, 1], "registers per thread": 32,
 "shared memory": 16, "Collective name": "_reduce_scatter_base", "In msg nelems": 1024, "Out msg nelems": 512,
 "Group size": 2, "dtype": "BFloat16", "Process Group Name": "0"}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7, "ts": 9, "dur": 2, "args": {
 "device": 0, "stream": 7, "correlation": 4, "grid": [2, -3, 1], "block": 5, "Collective name": "allreduce",
 "In msg nelems": 9223372036854775807, "Group size": -2, "dtype": "Float"}}])json");
  EXPECT_EQ(ImportTraces({in.path()}, out.path()).collectives, 2);
  TraceReader reader(out.path());
  const TraceRun run = reader.ReadRun(1);
  ASSERT_EQ(run.collectives.size(), 2u);
  EXPECT_EQ(run.collectives[0].launch, 0);
  EXPECT_EQ(run.Text(run.collectives[0].kind), "_reduce_scatter_base");
  EXPECT_EQ(run.collectives[0].bytes, 2048);
  EXPECT_EQ(run.collectives[0].ranks, 2);
  EXPECT_EQ(run.collectives[1].bytes, 0);
  EXPECT_EQ(run.collectives[1].ranks, 0);
  const auto kernel = [&](const char* sum) {
    return reader.database().QueryInteger(std::string("SELECT ") + sum +
                                          " FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE correlationId = 3");
  };
  EXPECT_EQ(kernel("gridX * 100 + gridY * 10 + gridZ"), 231);
  EXPECT_EQ(kernel("blockX"), 64);
  EXPECT_EQ(kernel("registersPerThread * 100 + dynamicSharedMemory"), 3216);
  EXPECT_EQ(reader.database().QueryText("SELECT name FROM PROCESSES"), "python");
}

// However many categories a file makes up.
TEST(KinetoTest, CategoriesThatAreLeftOutAreBounded) {
  std::string text = R"([{"ph": "X", "cat": "kernel", "name": "k", "ts": 5, "dur": 2})";
  for (int i = 0; i < 1000; ++i)
    text += fmt::format(R"(,{{"ph": "X", "cat": "c{}", "name": "x", "ts": 1, "dur": 1}})", i);
  ScratchFile in("in.json"), out("out.db");
  WriteFile(in.path(), text + "]");
  const ImportCounts counts = ImportTraces({in.path()}, out.path());
  EXPECT_EQ(counts.left_out.size(), 21u);
  EXPECT_EQ(counts.left_out.at("others"), 980);
}

TEST(KinetoTest, ABareListIsATraceToo) {
  ScratchFile in("in.json"), out("out.db");
  WriteFile(
      in.path(),
      R"([{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 2, "args": {}}])");
  EXPECT_EQ(ImportTraces({in.path()}, out.path()).kernels, 1);
  EXPECT_EQ(Summarize(out.path(), 1).gpu_activities.at(0).total_ns, 2000);
}

void WriteGzip(const std::string& path, const std::string& text) {
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
}

TEST(KinetoTest, CompressedTracesAreRead) {
  ScratchFile in("in.json.gz"), out("out.db");
  WriteGzip(in.path(), kTrace);
  const ImportCounts counts = ImportTraces({in.path()}, out.path());
  EXPECT_EQ(counts.kernels, 1);
  EXPECT_EQ(counts.skipped, 1);
}

TEST(KinetoTest, CompressedTracesThatEndEarlyAreDamaged) {
  ScratchFile in("in.json.gz");
  WriteGzip(in.path(), kTrace);
  std::ifstream whole(in.path(), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)), std::istreambuf_iterator<char>());
  for (const size_t kept : {bytes.size() - 4, bytes.size() / 2, size_t{12}}) {
    EXPECT_EQ(CodeOfKineto(bytes.substr(0, kept)), Code::kDataLoss) << kept;
  }
  std::string changed = bytes;
  changed[changed.size() - 6] ^= 0x55;  // of the checksum
  EXPECT_EQ(CodeOfKineto(changed), Code::kDataLoss);
}

TEST(KinetoTest, WhatIsNoTraceIsRefused) {
  EXPECT_EQ(CodeOfKineto("{\"a\": 1}"), Code::kInvalidArgument);
  // A timeline of TensorFlow is a Chrome trace, too.
  EXPECT_EQ(
      CodeOfKineto(R"({"traceEvents": [{"ph": "X", "cat": "Op", "name": "MatMul", "ts": 1, "dur": 2}]})"),
      Code::kInvalidArgument);
  EXPECT_EQ(CodeOfKineto("{\"traceEvents\": [{\"ph\": "), Code::kDataLoss);
  EXPECT_EQ(CodeOfKineto("not json"), Code::kDataLoss);
  EXPECT_EQ(CodeOfKineto(""), Code::kDataLoss);
  ScratchFile there("there.db");
  WriteFile(there.path(), "x");
  EXPECT_THROW(ImportTraces({"nowhere.json"}, there.path()), Error);
  EXPECT_THROW(ImportTraces({"nowhere.json"}, there.path() + "2"), Error);
}

TEST(KinetoTest, HostileNumbersAreCountedOrKept) {
  for (const char* value : {"1e300", "-1e300", "9223372036854775807", "-5", "null", "{}", "1e999999"}) {
    for (const char* key : {"ts", "dur"}) {
      const std::string other = std::string(key) == "ts" ? "dur" : "ts";
      const std::string text = "[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"" +
                               std::string(key) + "\": " + value + ", \"" + other + "\": 1}]";
      ScratchFile in("in.json"), out("out.db");
      WriteFile(in.path(), text);
      try {
        const ImportCounts counts = ImportTraces({in.path()}, out.path());
        EXPECT_EQ(counts.kernels + counts.skipped, 1) << text;
        Summarize(out.path(), 1);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kDataLoss) << text;
      }
    }
  }
}

TEST(KinetoTest, NamesOfCopies) {
  EXPECT_EQ(ParseCopyName("Memcpy PtoP (Device -> Device)").kind, 10);
  EXPECT_EQ(ParseCopyName("Memcpy HtoD (Pinned -> Device)").src_memory, 1);
  EXPECT_EQ(ParseCopyName("Memcpy DtoH (Device -> Pageable)").dst_memory, 0);
  EXPECT_EQ(ParseCopyName("Memcpy )-> (").kind, 0);
  EXPECT_EQ(ParseCopyName("CopyHostToDevice").kind, 1);  // of ROCm
}

// Two ranks of a job, against figures of an independent program.
TEST(KinetoTest, TwoRanksOfADlrm) {
  const std::string first = SharedTrace("kineto", "worker0_step_12.1694128201545.pt.trace.json");
  const std::string second = SharedTrace("kineto", "worker1_step_12.1694128201556.pt.trace.json");
  if (first.empty() || second.empty()) GTEST_SKIP() << "no shared traces here";
  ScratchFile one("one.db"), both("both.db");
  EXPECT_EQ(ImportTraces({first}, one.path()).kernels, 245);
  const Summary alone = Summarize(one.path(), 1);
  ASSERT_EQ(alone.devices.size(), 1u);
  const DeviceTime& time = alone.devices[0];
  EXPECT_EQ(time.window_ns, 13'009'000);
  EXPECT_EQ(time.compute_ns, 1'034'000);
  EXPECT_EQ(time.communication_ns, 5'798'000);
  EXPECT_EQ(time.overlapped_ns, 261'000);
  EXPECT_EQ(time.copies_ns, 19'000);
  EXPECT_EQ(time.idle_ns, 6'419'000);
  ASSERT_EQ(alone.steps.size(), 1u);
  EXPECT_EQ(alone.steps[0].step, 10);
  EXPECT_EQ(ImportTraces({first, second}, both.path()).kernels, 245 + 310);
  const Summary together = Summarize(both.path(), 1);
  ASSERT_EQ(together.devices.size(), 2u);
  EXPECT_EQ(together.devices[0].communication_ns, 5'798'000);
  EXPECT_EQ(together.devices[1].communication_ns, 11'336'000);
  EXPECT_EQ(together.devices[1].compute_ns, 1'246'000);
}

}  // namespace
}  // namespace lanescope::traces
