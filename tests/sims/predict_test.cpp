// SPDX-License-Identifier: Apache-2.0
#include "sims/predict/predict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/machine/copy_time.h"
#include "sims/predict/plot_svg.h"
#include "sims/predict/sweep.h"
#include "tests/sims/effects_of.h"
#include "tests/sims/schedule_maker.h"
#include "tests/support/ids.h"

namespace lanescope::sims {
namespace {

// Every launch costs `launch_ns`, a copy its time by the machine.
class FlatCost : public CostModel {
 public:
  explicit FlatCost(int64_t launch_ns) : launch_ns_(launch_ns) {}
  CostEstimate Launch(const Machine&, DeviceId, const Node&, std::span<const TensorInfo>,
                      std::span<const TensorInfo>) const override {
    return {launch_ns_, launch_ns_ / 10, CostBasis::kMeasured};
  }
  CostEstimate Copy(const Machine& machine, DeviceId src, DeviceId dst, int64_t bytes) const override {
    return {CopyNs(machine, machine.RouteBetween(src, dst), bytes), 0, CostBasis::kRates};
  }

 private:
  int64_t launch_ns_;
};

// A graph of one unknown op, which all launches run.
struct OneOp {
  OneOp() {
    Node node;
    node.name = "n";
    node.op = "MadeUp";
    graph.AddNode(node);
    info = InferGraph(graph, {});
  }
  Schedule Named(ScheduleMaker maker) const {
    Schedule schedule = maker.Build();
    for (Command& command : schedule.commands) command.node = NodeId(0);
    schedule.peak_bytes = {1, 2, 3};
    return schedule;
  }
  Graph graph;
  GraphInfo info;
};

class PredictTest : public testing::Test {
 protected:
  DeviceId gpu(int i) const { return machine_.Gpus()[static_cast<size_t>(i)]; }
  // Launch, copy of `bytes` to the other GPU, launch there.
  Schedule Across(int64_t bytes) const {
    ScheduleMaker maker;
    const QueueId a = maker.Queue(gpu(0)), b = maker.Queue(gpu(1)),
                  in = maker.Queue(gpu(1), QueueKind::kCopyIn);
    const CommandId first = maker.Launch(a, 0);
    maker.Launch(b, 0, {maker.Copy(in, gpu(0), gpu(1), bytes, 0, {first})});
    return one_.Named(maker);
  }
  Schedule OneDevice(int launches) const {
    ScheduleMaker maker;
    const QueueId a = maker.Queue(gpu(0));
    for (int i = 0; i < launches; ++i) maker.Launch(a, 0);
    return one_.Named(maker);
  }
  Prediction Run(const Schedule& schedule, const CostModel& costs,
                 const PredictionSettings& settings = {}) const {
    return Predict(one_.graph, one_.info, schedule, machine_, costs, settings);
  }

  OneOp one_;
  Machine machine_ = StarMachine(2, 1e9, 50, 0);
};

TEST_F(PredictTest, TellsTheStepAndWhatIsBehindIt) {
  // 1000 + (100 latency + 800) + 1000, and gaps: a handoff of 10 each way.
  const Schedule schedule = Across(800);
  PredictionSettings settings;
  Delays delays;
  for (auto& row : delays.handoff_ns) row.fill(10);
  settings.effects = EffectsOf(delays);
  const Prediction prediction = Run(schedule, FlatCost(1000), settings);
  EXPECT_EQ(prediction.step_ns, 2920);
  EXPECT_EQ(prediction.critical_path.commands, test::Ids<CommandId>({0, 1, 2}));
  EXPECT_EQ(prediction.critical_path.launch_ns, 2000);
  EXPECT_EQ(prediction.critical_path.copy_ns, 900);
  EXPECT_EQ(prediction.critical_path.overhead_ns, 20);
  const CopyTraffic& traffic = prediction.copies[static_cast<size_t>(CopyClass::kDeviceToDevice)];
  EXPECT_EQ(traffic.count, 1);
  EXPECT_EQ(traffic.bytes, 800);
  EXPECT_EQ(traffic.ns, 900);
  EXPECT_NEAR(prediction.busy[gpu(0)], 1000.0 / 2920, 1e-12);
  EXPECT_NEAR(prediction.uncalibrated_share(), 900.0 / 2900, 1e-12);
  EXPECT_EQ(prediction.peak_bytes, (IdVector<DeviceId, int64_t>{1, 2, 3}));
}

TEST_F(PredictTest, ThePathFollowsTheQueueWhereItHeldACommandUp) {
  // Two launches one after the other on a queue without a dependency.
  const Prediction prediction = Run(OneDevice(2), FlatCost(1000));
  EXPECT_EQ(prediction.critical_path.commands, test::Ids<CommandId>({0, 1}));
  EXPECT_EQ(prediction.critical_path.launch_ns_by_device[gpu(0)], 2000);
}

TEST_F(PredictTest, CopiesAreClassifiedByTheirEnds) {
  EXPECT_EQ(ClassifyCopy(machine_, gpu(0), gpu(1)), CopyClass::kDeviceToDevice);
  EXPECT_EQ(ClassifyCopy(machine_, gpu(0), gpu(0)), CopyClass::kWithinDevice);
  EXPECT_EQ(ClassifyCopy(machine_, machine_.host(), gpu(1)), CopyClass::kHostToDevice);
  EXPECT_EQ(ClassifyCopy(machine_, gpu(1), machine_.host()), CopyClass::kDeviceToHost);
}

TEST_F(PredictTest, IndependentNoiseAveragesOutAndCommonNoiseDoesNot) {
  // 100 launches of 1000 +- 100: the sum varies by 100 * sqrt(100) = 1000 of 100,000, one in a hundred.
  // A common 10% varies it by 10,000.
  const Schedule schedule = OneDevice(100);
  PredictionSettings settings;
  settings.draws = 2000;
  const Prediction independent = Run(schedule, FlatCost(1000), settings);
  EXPECT_EQ(independent.step_ns, 100'000);
  EXPECT_NEAR(static_cast<double>(independent.high_ns - independent.low_ns) / 2, 1000, 200);
  settings.common_spread = 0.1;
  const Prediction common = Run(schedule, FlatCost(1000), settings);
  EXPECT_NEAR(static_cast<double>(common.high_ns - common.low_ns) / 2, 10'000, 1000);
}

TEST_F(PredictTest, UncalibratedErrorsOfAKindStandTogether) {
  CommandEstimates estimates;
  const Schedule schedule = OneDevice(100);
  estimates.costs.ns.assign(100, 1000);
  estimates.spread_ns.assign(100, 500);
  estimates.kind.assign(100, 0);
  estimates.basis.assign(100, CostBasis::kRates);
  const Prediction together = Predict(schedule, machine_, estimates, {});
  estimates.basis.assign(100, CostBasis::kMeasured);
  const Prediction apart = Predict(schedule, machine_, estimates, {});
  EXPECT_GT(together.high_ns - together.low_ns, 5 * (apart.high_ns - apart.low_ns));
}

TEST_F(PredictTest, TheIntervalContainsTheValueAndRepeats) {
  for (const int draws : {0, 1, 3, 50}) {
    PredictionSettings settings;
    settings.draws = draws;
    const Schedule schedule = Across(800);
    const Prediction first = Run(schedule, FlatCost(1000), settings);
    EXPECT_LE(first.low_ns, first.step_ns);
    EXPECT_GE(first.high_ns, first.step_ns);
    const Prediction again = Run(schedule, FlatCost(1000), settings);
    EXPECT_EQ(first.low_ns, again.low_ns);
    EXPECT_EQ(first.high_ns, again.high_ns);
  }
}

TEST_F(PredictTest, ASweepFindsTheCrossingAndTheAsymptote) {
  // Split: 1000 + 100 latency + 1,000,000 bytes / b + 1000. Whole: 5000. Equal where 1e6 / b = 2900 ns:
  // b = 344.8 GB/s. With an infinite link split takes 2100, of which each GPU computes 1000.
  const Schedule split = Across(1'000'000), whole = OneDevice(5);
  const std::vector<SweepCandidate> candidates = {{"whole", &one_.graph, &one_.info, &whole},
                                                  {"split", &one_.graph, &one_.info, &split}};
  const SweepRange range{.links = {0, 1}, .buses = {}, .low = 1e9, .high = 1e13, .points = 17};
  const Sweep sweep = RunSweep(machine_, FlatCost(1000), {}, candidates, range);
  ASSERT_EQ(sweep.bandwidth.size(), 17u);
  EXPECT_DOUBLE_EQ(sweep.bandwidth.front(), 1e9);
  EXPECT_DOUBLE_EQ(sweep.bandwidth.back(), 1e13);
  EXPECT_EQ(sweep.curves[0].step_ns, std::vector<int64_t>(17, 5000));
  EXPECT_EQ(sweep.curves[1].step_ns.front(), 1'002'100);
  EXPECT_EQ(sweep.curves[1].asymptote_ns, 2100);
  EXPECT_EQ(sweep.curves[1].bound_by, "GPU:0 computes");
  EXPECT_NEAR(sweep.curves[1].bound_share, 1000.0 / 2100, 1e-9);
  ASSERT_EQ(sweep.crossings.size(), 1u);
  EXPECT_EQ(sweep.crossings[0].below, 0);
  EXPECT_EQ(sweep.crossings[0].above, 1);
  EXPECT_NEAR(sweep.crossings[0].bandwidth, 1e6 / 2900e-9, 1e-3 * 1e6 / 2900e-9);
  const std::vector<SweepLeader> leaders = LeadersOf(sweep);
  ASSERT_EQ(leaders.size(), 2u);
  EXPECT_EQ(leaders[0].curve, 0);
  EXPECT_EQ(leaders[0].bandwidth, 1e9);
  EXPECT_EQ(leaders[1].curve, 1);
  EXPECT_EQ(leaders[1].bandwidth, sweep.crossings[0].bandwidth);
}

// Law: points computed elsewhere make the same sweep; an answer that misses some is an error.
TEST_F(PredictTest, ASweepElsewhereIsTheSame) {
  const Schedule split = Across(1'000'000), whole = OneDevice(5);
  const std::vector<SweepCandidate> candidates = {{"whole", &one_.graph, &one_.info, &whole},
                                                  {"split", &one_.graph, &one_.info, &split}};
  const SweepRange range{.links = {0, 1}, .buses = {}, .low = 1e9, .high = 1e13, .points = 5};
  const Sweep here = RunSweep(machine_, FlatCost(1000), {}, candidates, range);
  const auto elsewhere = [&](int candidate, const std::vector<double>& bandwidth) {
    return SweepSteps(machine_, FlatCost(1000), {}, candidates[static_cast<size_t>(candidate)], range,
                      bandwidth);
  };
  const Sweep there = RunSweep(machine_, FlatCost(1000), {}, candidates, range, {}, elsewhere);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(there.curves[i].step_ns, here.curves[i].step_ns);
  ASSERT_EQ(there.crossings.size(), 1u);
  EXPECT_EQ(there.crossings[0].bandwidth, here.crossings[0].bandwidth);
  const auto short_answer = [](int, const std::vector<double>&) { return std::vector<int64_t>{1}; };
  EXPECT_THROW(RunSweep(machine_, FlatCost(1000), {}, candidates, range, {}, short_answer), Error);
}

// The curves of the sweep above, looked at over ranges on both sides of the crossing at 344.8 GB/s.
TEST_F(PredictTest, ASweepSaysWhoWinsWhereNothingCrosses) {
  const Schedule split = Across(1'000'000), whole = OneDevice(5), small = OneDevice(1);
  const std::vector<SweepCandidate> candidates = {{"whole", &one_.graph, &one_.info, &whole},
                                                  {"split", &one_.graph, &one_.info, &split},
                                                  {"small", &one_.graph, &one_.info, &small},
                                                  {"again", &one_.graph, &one_.info, &whole}};
  const auto sweep = [&](double low, double high) {
    return RunSweep(machine_, FlatCost(1000), {}, candidates,
                    {.links = {0, 1}, .buses = {}, .low = low, .high = high});
  };
  const Sweep below = sweep(1e9, 1e11), across = sweep(1e9, 1e13), above = sweep(1e12, 1e13);
  EXPECT_EQ(StandingOf(below, 1, 0), SweepStanding::kWinsBeyond);
  EXPECT_EQ(StandingOf(below, 0, 1), SweepStanding::kWins);
  EXPECT_EQ(StandingOf(across, 1, 0), SweepStanding::kCrosses);
  EXPECT_EQ(StandingOf(above, 1, 0), SweepStanding::kWins);
  EXPECT_EQ(StandingOf(above, 1, 2), SweepStanding::kNeverWins);
  EXPECT_EQ(StandingOf(above, 0, 3), SweepStanding::kEqual);
}

TEST_F(PredictTest, ASweepRefusesRangesThatMeanNothing) {
  const Schedule whole = OneDevice(1);
  const std::vector<SweepCandidate> candidates = {{"whole", &one_.graph, &one_.info, &whole}};
  const auto run = [&](const SweepRange& range) { RunSweep(machine_, FlatCost(1), {}, candidates, range); };
  EXPECT_THROW(run({.links = {0}, .buses = {}, .low = 0, .high = 1e9}), Error);
  EXPECT_THROW(run({.links = {0}, .buses = {}, .low = 2e9, .high = 1e9}), Error);
  EXPECT_THROW(run({.links = {9}, .buses = {}, .low = 1e8, .high = 1e9}), Error);
  EXPECT_THROW(run({.links = {}, .buses = {}, .low = 1e8, .high = 1e9}), Error);
  EXPECT_THROW(run({.links = {0}, .buses = {}, .low = 1e8, .high = 1e9, .points = 1}), Error);
}

// Every tag that opens is closed in order, and text holds no bare '<' or '&'.
bool IsWellFormed(const std::string& xml) {
  std::vector<std::string> open;
  for (size_t i = 0; i < xml.size(); ++i) {
    if (xml[i] == '&') {
      const size_t end = xml.find(';', i);
      if (end == std::string::npos || end - i > 6) return false;
    }
    if (xml[i] != '<') continue;
    const size_t end = xml.find('>', i);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(i + 1, end - i - 1);
    if (tag.find('<') != std::string::npos) return false;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    i = end;
  }
  return open.empty();
}

TEST(PlotSvg, IsWellFormedWhateverTheLabels) {
  PlotSpec spec;
  spec.title = "a < b & \"c\" > d\x01";
  spec.x_label = "link bandwidth, GB/s";
  spec.y_label = "step, ms";
  spec.x = {1, 10, 100};
  for (int i = 0; i < 9; ++i) {
    spec.series.push_back(
        {"series <" + std::to_string(i) + "> Δ with a name that is too long", {1.0 * i, 2, 3}});
  }
  spec.series[0].y[1] = std::numeric_limits<double>::quiet_NaN();
  spec.marks = {{20, "20 & more"}, {1e9, "outside"}};
  const std::string svg = PlotSvg(spec);
  EXPECT_TRUE(IsWellFormed(svg)) << svg;
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("outside"), std::string::npos);
  EXPECT_EQ(PlotSvg(spec), svg);
}

TEST(PlotSvg, RefusesWhatCannotBeDrawn) {
  EXPECT_THROW(PlotSvg({}), Error);
  PlotSpec spec;
  spec.x = {1, 1};
  EXPECT_THROW(PlotSvg(spec), Error);
  spec.x = {0, 1};
  EXPECT_THROW(PlotSvg(spec), Error);
  spec.x = {1, 2};
  spec.series = {{"short", {1}}};
  EXPECT_THROW(PlotSvg(spec), Error);
  spec.series = {{"negative", {1, -1}}};
  EXPECT_THROW(PlotSvg(spec), Error);
  spec.series = {{"flat", {0, 0}}};
  EXPECT_TRUE(IsWellFormed(PlotSvg(spec)));
}

}  // namespace
}  // namespace lanescope::sims
