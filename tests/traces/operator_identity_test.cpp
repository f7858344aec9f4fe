// SPDX-License-Identifier: Apache-2.0
// Kernels of two runs, matched by the operators that launched them.
#include "traces/report/operator_identity.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/runs/run_profile.h"
#include "tests/traces/imported.h"
#include "tests/traces/shared_traces.h"
#include "traces/read/trace_view.h"

namespace lanescope::traces {
namespace {

// Kernels one after the other, each within ranges, the outermost first; "aten::mm [[2]]" has shapes.
class OperatorRun {
 public:
  OperatorRun() {
    TraceDevice device;
    device.name = "/device:GPU:0";
    run.devices.push_back(device);
  }
  void Launch(const std::string& kernel, const std::vector<std::string>& ranges, int64_t length) {
    int innermost = -1;
    for (const std::string& name : ranges) {
      const size_t shapes = name.find(" [[");
      TraceRange range;
      range.start_ns = time_ + std::ssize(run.ranges);
      range.end_ns = time_ + length + 100 - std::ssize(run.ranges);
      range.text = Text(name.substr(0, shapes));
      if (shapes != std::string::npos) {
        range.details = static_cast<int>(run.operators.size());
        run.operators.push_back({Text(name.substr(shapes + 1)), -1, -1});
      }
      innermost = static_cast<int>(run.ranges.size());
      run.ranges.push_back(range);
    }
    TraceLaunch launch;
    launch.name = Text(kernel);
    launch.range = innermost;
    launch.start_ns = time_ + 50;
    launch.end_ns = launch.start_ns + length;
    run.launches.push_back(launch);
    time_ += 1000 + length;
  }
  TraceRun run;

 private:
  int Text(const std::string& text) {
    run.texts.push_back(text);
    return static_cast<int>(run.texts.size()) - 1;
  }
  int64_t time_ = 0;
};

const std::string& NameOf(const TraceRun& run, size_t launch) { return run.Text(run.launches[launch].name); }

// The outermost operator that both have names a kernel, with its shapes where those are the same.
TEST(OperatorIdentityTest, TheOutermostOperatorThatBothHave) {
  OperatorRun a, b;
  a.Launch("sm90_gemm", {"aten::linear [[2, 3]]", "aten::addmm [[3]]"}, 100);
  b.Launch("Cijk_gemm", {"aten::linear [[2, 3]]", "aten::mm [[3]]"}, 200);
  a.Launch("add_a", {"nn.Module: Block_0", "aten::add [[4]]"}, 10);
  b.Launch("add_b", {"nn.Module: Block_0", "aten::add [[8]]"}, 10);
  a.Launch("fused", {"ProfilerStep#3", "nn.Module: Mlp_0", "f.py(3): forward", "Compiled"}, 10);
  b.Launch("gelu", {"ProfilerStep#3", "nn.Module: Mlp_0", "f.py(3): forward", "aten::gelu [[4]]"}, 10);
  a.Launch("alone", {}, 10);
  NameByOperators(&a.run, &b.run);
  for (const TraceRun* run : {&a.run, &b.run}) {
    EXPECT_EQ(NameOf(*run, 0), "aten::linear [[2, 3]]");
    EXPECT_EQ(NameOf(*run, 1), "aten::add");
    EXPECT_EQ(NameOf(*run, 2), "nn.Module: Mlp_0");
  }
  EXPECT_EQ(NameOf(a.run, 3), "alone");
  const RunDiff diff = DiffRuns(ProfileRun(ViewOfRun(a.run)), ProfileRun(ViewOfRun(b.run)));
  EXPECT_DOUBLE_EQ(MatchedShare(diff), 340.0 / 350);
}

// Operators are asked for only where kernels match less than half of the time, and taken where they match
// more.
TEST(OperatorIdentityTest, OperatorsWhereKernelsHaveLittleInCommon) {
  OperatorRun a, b;
  a.Launch("sm90_gemm", {"aten::mm [[2]]"}, 100);
  b.Launch("Cijk_gemm", {"aten::mm [[2]]"}, 200);
  a.Launch("add", {"aten::add [[4]]"}, 10);
  b.Launch("add", {"aten::add [[4]]"}, 10);
  const auto profile = [](const OperatorRun& run) { return ProfileRun(ViewOfRun(run.run)); };
  const RunProfile of_a = profile(a), of_b = profile(b);
  int asked = 0;
  const auto by_operators = [&] {
    ++asked;
    NameByOperators(&a.run, &b.run);
    return std::pair(profile(a), profile(b));
  };
  const MatchedRuns matched = MatchRuns(of_a, of_b, by_operators);
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(matched.of_kernels);
  EXPECT_TRUE(matched.by_operators);
  EXPECT_DOUBLE_EQ(matched.share, 1);
  EXPECT_DOUBLE_EQ(matched.share_of_kernels, 20.0 / 320);
  EXPECT_FALSE(MatchRuns(of_a, of_a, by_operators).by_operators);
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(MatchByOperators(of_a, of_a, by_operators).by_operators);
}

// Steps of one model on an H100 and an MI300X: 10 to 14% of their time is of kernels of one name.
TEST(OperatorIdentityTest, GpusOfTwoVendors) {
  for (const std::string model : {"bert_small", "image_classifier"}) {
    TraceRun runs[2];
    for (const int side : {0, 1}) {
      const std::string path =
          SharedTrace("tracelens", (side == 0 ? "h100_" : "mi300x_") + model + ".json.gz");
      if (path.empty()) GTEST_SKIP() << "the recorded traces are not there";
      runs[side] = ImportOf(path).run;
    }
    const auto share = [&] {
      return MatchedShare(DiffRuns(ProfileRun(ViewOfRun(runs[0])), ProfileRun(ViewOfRun(runs[1]))));
    };
    EXPECT_LT(share(), 0.2);
    NameByOperators(&runs[0], &runs[1]);
    EXPECT_GT(share(), 0.9);
  }
}

}  // namespace
}  // namespace lanescope::traces
