// SPDX-License-Identifier: Apache-2.0
// Exports of every age open as they are and say the same.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>

#include "core/base/error.h"
#include "core/runs/run_diff.h"
#include "tests/traces/nsys_export.h"
#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"
#include "traces/read/trace_view.h"
#include "traces/report/summary.h"
#include "traces/store/query.h"

namespace lanescope::traces {
namespace {

class NsysVersionsTest : public testing::TestWithParam<ExportVersion> {
 protected:
  NsysVersionsTest() { WriteTwoProcesses(file_.path(), GetParam()); }
  ScratchFile file_;
};

const SummaryRow* Find(const std::vector<SummaryRow>& rows, std::string_view name) {
  for (const SummaryRow& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

TEST_P(NsysVersionsTest, Activities) {
  const Summary summary = Summarize(file_.path(), 1);
  const bool full = GetParam().name != "only_what_is_needed";
  const SummaryRow* gemm = Find(summary.gpu_activities, full ? "void gemm<float>(float*)" : "gemm");
  ASSERT_NE(gemm, nullptr);
  EXPECT_EQ(gemm->total_ns, 1000 + 500);
  EXPECT_EQ(gemm->calls, 2);
  const SummaryRow* in = Find(summary.gpu_activities, "[CUDA memcpy HtoD]");
  ASSERT_NE(in, nullptr);
  EXPECT_EQ(in->total_ns, 400 + 100);  // the one labelled peer to peer comes from pinned host memory
  EXPECT_EQ(Find(summary.gpu_activities, "[CUDA memcpy PtoP]")->total_ns, 100);
  EXPECT_EQ(Find(summary.gpu_activities, "[CUDA memcpy DtoD]")->total_ns, 100);
  EXPECT_EQ(summary.invalid_rows, 0);
  EXPECT_EQ(summary.bound, std::nullopt);
}

TEST_P(NsysVersionsTest, Traffic) {
  std::map<std::pair<std::string, std::string>, int64_t> bytes;
  for (const TrafficRow& row : Summarize(file_.path(), 1).traffic) bytes[{row.src, row.dst}] = row.bytes;
  EXPECT_EQ((bytes[{"host", "GPU:0"}]), 4100);
  EXPECT_EQ((bytes[{"GPU:0", "GPU:0"}]), 50);  // within the device
  if (GetParam().copy_ends) {
    EXPECT_EQ((bytes[{"GPU:0", "GPU:1"}]), 300);
  } else {
    EXPECT_EQ((bytes[{"GPU:1", "GPU:?"}]), 300);
  }
}

// GPU 0: compute 1000-2000, NCCL 1800-2600, copies 500-900, (2600-2700), 2700-2900. GPU 1: compute 1200-1700,
// NCCL 1700-2600, a copy 2600-2700. Window: 500 to 2950, or to 2900 without memsets.
TEST_P(NsysVersionsTest, TimesByUnionOfIntervals) {
  const Summary summary = Summarize(file_.path(), 1);
  const bool memset = !GetParam().memset.empty(), ends = GetParam().copy_ends;
  ASSERT_EQ(summary.devices.size(), 2u);
  const DeviceTime &a = summary.devices[0], &b = summary.devices[1];
  EXPECT_EQ(a.device, "GPU:0");
  EXPECT_EQ(a.window_ns, memset ? 2450 : 2400);
  EXPECT_EQ(a.compute_ns, 1000);
  EXPECT_EQ(a.communication_ns, 800);
  EXPECT_EQ(a.overlapped_ns, 200);
  EXPECT_EQ(a.exposed_ns, 600);
  EXPECT_EQ(a.copies_ns, ends ? 700 : 600);
  EXPECT_EQ(a.hidden_copies_ns, 0);
  EXPECT_EQ(a.idle_ns, ends ? 100 : 200);
  EXPECT_EQ(b.compute_ns, 500);
  EXPECT_EQ(b.exposed_ns, 900);
  EXPECT_EQ(b.overlapped_ns, 0);
  EXPECT_EQ(b.copies_ns, 100);
  for (const DeviceTime& time : summary.devices) {
    EXPECT_EQ(time.window_ns, time.compute_ns + time.exposed_ns + time.exposed_copies_ns +
                                  time.exposed_memsets_ns + time.idle_ns);
  }
  // Summed over the devices; the copy within GPU 0 from 2600 to 2700 is work of it, where the trace tells.
  const Communication& c = summary.communication;
  EXPECT_EQ(c.devices, 2);
  EXPECT_EQ(c.overlapped_ns, 200);
  EXPECT_EQ(c.nccl_ns, 800 + 900);
  EXPECT_EQ(c.compute_ns + c.exposed_ns + c.idle_ns, 2 * a.window_ns);
}

TEST_P(NsysVersionsTest, KernelsByInnermostRange) {
  SummaryOptions options;
  options.ranges = true;
  std::map<std::string, RangeRow> rows;
  for (const RangeRow& row : Summarize(file_.path(), 1, options).ranges) rows[row.name] = row;
  // The gemm of both processes and NCCL of the second: its launch at 200 lies in the "forward" of its thread.
  EXPECT_EQ(rows["forward"].kernels, 3);
  EXPECT_EQ(rows["forward"].kernel_ns, 1000 + 500 + 900);
  EXPECT_EQ(rows["train"].kernels, 1);
  EXPECT_EQ(rows["train"].kernel_ns, 800);
  EXPECT_EQ(rows["train"].copy_bytes, 4000);
  EXPECT_EQ(rows["epoch"].copy_bytes, 100);  // a range of the process, set by another thread
  EXPECT_EQ(rows["(outside all ranges)"].copy_bytes, 300);
  EXPECT_EQ(rows["(launched before the trace began)"].copy_bytes, 50);
}

TEST_P(NsysVersionsTest, DevicesRunsAndQueries) {
  TraceReader reader(file_.path());
  EXPECT_FALSE(reader.is_ours());
  EXPECT_EQ(reader.Runs().size(), 1u);
  const auto devices = reader.Devices(1);
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[1].id, 1);
  if (GetParam().gpu_table || GetParam().old_gpu_table) {
    EXPECT_EQ(devices[1].model, "Card");
    EXPECT_EQ(devices[1].memory_limit, 1000);
  }
  EXPECT_EQ(RunQuery(file_.path(), "SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").rows[0][0],
            QueryValue(int64_t{4}));
}

TEST_P(NsysVersionsTest, ARunDoesNotDifferFromItself) {
  const RunProfile profile = ProfileRun(ViewOfRun(TraceReader(file_.path()).ReadRun(1)));
  const RunDiff diff = DiffRuns(profile, profile);
  EXPECT_EQ(diff.parts_a.step_ns, diff.parts_b.step_ns);
  EXPECT_EQ(diff.parts_a.contention_ns, 0);
  for (const OpDiff& op : diff.ops) EXPECT_EQ(op.PathChange(), 0) << op.name;
}

INSTANTIATE_TEST_SUITE_P(All, NsysVersionsTest, testing::ValuesIn(ExportVersions()), [](const auto& version) {
  std::string name = version.param.name;
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return "v" + name;
});

TEST(NsysFilesTest, AReportNamesTheCommandThatExportsIt) {
  ScratchFile report("run.nsys-rep");
  std::ofstream(report.path(), std::ios::binary) << std::string(4096, '\1');
  for (const auto& open : {std::function<void()>([&] { TraceReader reader(report.path()); }),
                           std::function<void()>([&] { Summarize(report.path(), 1); }),
                           std::function<void()>([&] { RunQuery(report.path(), "SELECT 1"); })}) {
    try {
      open();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      EXPECT_NE(error.message().find("nsys export --type sqlite " + report.path()), std::string::npos)
          << error.message();
    }
  }
}

// One GPU: copies in 0-950 (26,315 bytes: 27.7 bytes/ns), a kernel 977-1000.
TEST(NsysFilesTest, TheVerdictNamesWhatCoversTheWindow) {
  ScratchFile file;
  {
    NsysExport out(file.path(), ExportVersions()[3]);
    const std::string name = out.Text("void gemm<float>(float*)");
    out.Memcpy({{"start", "0"}, {"end", "950"}, {"deviceId", "0"}, {"bytes", "26315"}, {"copyKind", "1"}});
    out.Kernel(
        {{"start", "977"}, {"end", "1000"}, {"deviceId", "0"}, {"shortName", name}, {"demangledName", name}});
  }
  EXPECT_EQ(
      Summarize(file.path(), 1).verdict,
      "copy-in bound: host-to-device copies cover 95% of the window at 27.7 GB/s, kernels 2.3%; hiding all "
      "else would save at most 5.0% of it.");
}

// Copies within a device read and write its memory, which moves 2000 bytes/s in this description.
TEST(NsysFilesTest, TheVerdictKnowsTheCeiling) {
  ScratchFile file;
  {
    NsysExport out(file.path(), ExportVersions()[3]);
    out.Memcpy(
        {{"start", "0"}, {"end", "1000000000"}, {"deviceId", "0"}, {"bytes", "750"}, {"copyKind", "8"}});
  }
  const Summary summary = Summarize(file.path(), 1);
  ASSERT_TRUE(summary.bound.has_value());
  EXPECT_EQ(summary.bound->name, "memory-copy");
  EXPECT_EQ(summary.bound->bytes_per_second, 750);
  EXPECT_EQ(summary.bound->ceiling_per_second, 1000);
  EXPECT_NE(summary.verdict.find("(75%)"), std::string::npos) << summary.verdict;
}

// NCCL takes 60% of the window, half of that beside compute.
TEST(NsysFilesTest, NcclIsCommunicationInAnyCase) {
  for (const char* kernel : {"ncclDevKernel_AllReduce", "NCCL_kernel", "my_NcclThing"}) {
    ScratchFile file;
    {
      NsysExport out(file.path(), ExportVersions()[3]);
      const std::string gemm = out.Text("gemm"), nccl = out.Text(kernel);
      out.Kernel(
          {{"start", "0"}, {"end", "40"}, {"deviceId", "0"}, {"shortName", gemm}, {"demangledName", gemm}});
      out.Kernel(
          {{"start", "10"}, {"end", "70"}, {"deviceId", "0"}, {"shortName", nccl}, {"demangledName", nccl}});
      out.Kernel(
          {{"start", "95"}, {"end", "100"}, {"deviceId", "0"}, {"shortName", gemm}, {"demangledName", gemm}});
    }
    const Summary summary = Summarize(file.path(), 1);
    EXPECT_EQ(summary.bound->name, "communication");
    EXPECT_EQ(summary.communication.compute_ns, 45);
    EXPECT_EQ(summary.communication.overlapped_ns, 30);
    EXPECT_EQ(summary.communication.exposed_ns, 30);
    EXPECT_EQ(summary.communication.idle_ns, 25);
  }
}

// Negative times are times; NULL, reversed and absurd ones are counted and left out.
TEST(NsysFilesTest, HostileTimesAreCounted) {
  ScratchFile file;
  {
    NsysExport out(file.path(), ExportVersions()[4]);
    const std::string name = out.Text("k");
    const auto kernel = [&](const std::string& start, const std::string& end) {
      out.Kernel(
          {{"start", start}, {"end", end}, {"deviceId", "0"}, {"shortName", name}, {"demangledName", name}});
    };
    kernel("-500", "-400");
    kernel("100", "300");
    kernel("NULL", "300");
    kernel("100", "NULL");
    kernel("300", "100");
    kernel("0", "9223372036854775807");
    kernel("-9223372036854775808", "0");
    out.Range({{"start", "NULL"}, {"end", "5"}, {"eventType", "59"}, {"text", "'x'"}});
  }
  const Summary summary = Summarize(file.path(), 1);
  EXPECT_EQ(summary.invalid_rows, 5);
  ASSERT_EQ(summary.gpu_activities.size(), 1u);
  EXPECT_EQ(summary.gpu_activities[0].total_ns, 300);
  EXPECT_EQ(summary.devices.at(0).window_ns, 800);
  EXPECT_EQ(TraceReader(file.path()).ReadRun(1).invalid_rows, 6);  // the range too
}

}  // namespace
}  // namespace lanescope::traces
