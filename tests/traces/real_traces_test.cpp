// SPDX-License-Identifier: Apache-2.0
// Real exports against figures that an independent program (Python's sqlite3 and brute force) computed.
#include <gtest/gtest.h>

#include <map>

#include "core/runs/run_diff.h"
#include "tests/traces/shared_traces.h"
#include "traces/read/trace_view.h"
#include "traces/report/summary.h"

namespace lanescope::traces {
namespace {

struct Expected {
  int64_t window, compute, copies, hidden, memsets, idle;
};

void ExpectTimes(const DeviceTime& time, const Expected& expected) {
  EXPECT_EQ(time.window_ns, expected.window);
  EXPECT_EQ(time.compute_ns, expected.compute);
  EXPECT_EQ(time.copies_ns, expected.copies);
  EXPECT_EQ(time.hidden_copies_ns, expected.hidden);
  EXPECT_EQ(time.exposed_memsets_ns, expected.memsets);
  EXPECT_EQ(time.idle_ns, expected.idle);
  EXPECT_EQ(time.communication_ns, 0);
}

TEST(RealTracesTest, TwoH100sAreBoundByCopiesIn) {
  const std::string path = SharedNsysTrace("h100_2gpu_1s.sqlite");
  if (path.empty()) GTEST_SKIP() << "no shared traces here";
  const Summary summary = Summarize(path, 1);
  ASSERT_EQ(summary.devices.size(), 2u);
  ExpectTimes(summary.devices[0], {969'447'605, 22'385'163, 940'490'300, 0, 14'784, 6'557'358});
  ExpectTimes(summary.devices[1], {969'447'605, 22'444'359, 940'351'914, 0, 14'432, 6'636'900});
  ASSERT_TRUE(summary.bound.has_value());
  EXPECT_EQ(summary.bound->name, "copy-in");
  EXPECT_NEAR(summary.bound->coverage, (920'872'841 + 920'757'957) / 2.0 / 969'447'605, 1e-12);
  EXPECT_NEAR(summary.bound->bytes_per_second, 50'950'507'584e9 / (920'872'841 + 920'757'957), 1);
  EXPECT_TRUE(summary.verdict.starts_with(
      "copy-in bound: host-to-device copies cover 95% of the window at 27.67 GB/s, kernels 2.3%"))
      << summary.verdict;
  for (const TrafficRow& row : summary.traffic) {
    EXPECT_NE(row.copy_class, CopyClass::kDeviceToDevice);  // what is listed so stays within a device
  }
}

TEST(RealTracesTest, TwoH100sByRange) {
  const std::string path = SharedNsysTrace("h100_2gpu_1s.sqlite");
  if (path.empty()) GTEST_SKIP() << "no shared traces here";
  SummaryOptions options;
  options.ranges = true;
  std::map<std::string, std::pair<int64_t, int64_t>> rows;
  int64_t kernels = 0;
  for (const RangeRow& row : Summarize(path, 1, options).ranges) {
    rows[row.name] = {row.kernels, row.kernel_ns};
    kernels += row.kernels;
  }
  EXPECT_EQ(kernels, 3442);
  const std::map<std::string, std::pair<int64_t, int64_t>> expected = {
      {"(launched before the trace began)", {1810, 21'682'293}},
      {"aten::mm", {244, 19'866'482}},
      {"aten::mul", {290, 591'969}},
      {"aten::mean", {54, 496'417}},
      {"aten::copy_", {136, 379'778}},
      {"aten::add", {212, 358'210}},
      {"aten::bmm", {52, 290'114}},
      {"aten::pow", {80, 175'776}}};
  for (const auto& [name, figures] : expected) EXPECT_EQ(rows[name], figures) << name;
}

TEST(RealTracesTest, Rtx3080AndT4WaitForTheHost) {
  const std::string small = SharedNsysTrace("rtx3080_small.sqlite");
  const std::string unified = SharedNsysTrace("t4_unified_memory_schema_3.17.sqlite");
  if (small.empty() || unified.empty()) GTEST_SKIP() << "no shared traces here";
  const Summary rtx = Summarize(small, 1), t4 = Summarize(unified, 1);
  ExpectTimes(rtx.devices.at(0), {22'453'059, 4'129, 1'632, 0, 0, 22'447'298});
  ExpectTimes(t4.devices.at(0), {1'039'870'596, 35'629'661, 86'717'154, 22'814'146, 0, 940'337'927});
  EXPECT_EQ(rtx.bound->name, "idle");
  EXPECT_EQ(t4.bound->name, "idle");
}

TEST(RealTracesTest, PartsOfAForeignRunAddUp) {
  const std::string path = SharedNsysTrace("h100_2gpu_1s.sqlite");
  if (path.empty()) GTEST_SKIP() << "no shared traces here";
  const RunProfile profile = ProfileRun(ViewOfRun(TraceReader(path).ReadRun(1)));
  const RunDiff diff = DiffRuns(profile, profile);
  const StepParts& parts = diff.parts_a;
  EXPECT_NEAR(parts.compute_ns + parts.transfer_ns + parts.waiting_ns, 969'447'605, 1e-3);
  // Kernels and memory sets come first: their union over both GPUs, by sqlite3 and a script.
  EXPECT_NEAR(parts.compute_ns, 29'325'914, 1e-3);
}

}  // namespace
}  // namespace lanescope::traces
