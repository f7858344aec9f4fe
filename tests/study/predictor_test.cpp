// SPDX-License-Identifier: Apache-2.0
#include "study/predict/predictor.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/graph/signature.h"
#include "sims/effects/queue_gaps.h"
#include "sims/effects/step_overhead.h"
#include "study/workload/placing.h"

namespace lanescope::study {
namespace {

constexpr int64_t kSize = 1 << 14;

// Two ops on GPU:0.
struct TwoOps {
  TwoOps() : machine(VirtualMachine(2, 1)) {
    GraphBuilder builder;
    const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape({kSize}));
    const Endpoint y = builder.Op("Tanh", "y").Input(x).Build();
    builder.Op("Exp", "z").Input(y).Build();
    RunSpec spec;
    FeedSpec& feed = spec.feeds["x"];
    feed.shape = Shape({kSize});
    feed.values = Tensor(DataType::kFloat, feed.shape);
    spec.targets = {"z"};
    workload.emplace("two-ops", builder.Take(), std::move(spec));
    placed = Place(*workload, "single", machine, RooflineCost());
    schedule = CompileStep(placed, machine);
  }

  // Every launch takes `ns`, and so much passes before a step.
  sims::CostTable Table(int64_t ns, int64_t start_ns) const {
    sims::CostTable table;
    table.calibrated_on = "run 1";
    for (const NodeId id : workload->graph().node_ids()) {
      const Node& node = workload->graph().node(id);
      sims::LaunchCost& cost = table.launches.emplace_back();
      cost.op = node.op;
      cost.signature = OpSignature(node, workload->InputInfos(id), workload->info().outputs(id));
      cost.device = sims::CostDevice(machine.device(machine.Gpus()[0]));
      cost.ns = ns;
      cost.count = 1;
    }
    sims::StepOverhead step;
    step.start_ns = start_ns;
    table.effects.Put(step);
    return table;
  }

  int64_t StepBy(const Predictor& predictor) const {
    return predictor.Predict(*workload, schedule, {.draws = 0}).step_ns;
  }
  // StepBy in two parts.
  int64_t StepByEstimates(const Predictor& predictor) const {
    const sims::CommandEstimates estimates = predictor.Estimate(*workload, schedule);
    return predictor.PredictFrom(estimates, *workload, schedule, {.draws = 0}).step_ns;
  }

  Machine machine;
  std::optional<Workload> workload;
  PlacedGraph placed;
  Schedule schedule;
};

TEST(PredictorTest, OwnsItsTable) {
  const TwoOps step;
  std::optional<Predictor> predictor;
  {
    const sims::CostTable table = step.Table(1000, 7);
    predictor.emplace(step.machine, table);
  }
  const Predictor copy = *predictor;
  predictor.reset();
  EXPECT_EQ(copy.origin(), "calibrated on run 1");
  EXPECT_EQ(copy.table()->effects.Get<sims::StepOverhead>().start_ns, 7);
  EXPECT_GE(step.StepBy(copy), 2 * 1000 + 7);
}

// Law: a prediction says itself what it lacks, whoever asks for it: rates of the machine, or nothing where it
// goes by rates or by measurements.
TEST(PredictorTest, APredictionWithoutRatesCarriesTheCaveat) {
  const TwoOps step;
  const auto caveat = [&](const Predictor& predictor) {
    return predictor.Predict(*step.workload, step.schedule, {.draws = 0}).caveat;
  };
  EXPECT_EQ(
      caveat(Predictor(step.machine)),
      "nothing to go by for 32% of the commands' time: the machine file gives no rates for CPU:0, GPU:0, "
      "GPU:1; 10 GFLOP/s and 10 GB/s are assumed");
  EXPECT_EQ(caveat(Predictor(step.machine, step.Table(1'000'000, 0))), "");
  Machine with_rates = step.machine;
  for (DeviceSpec& device : with_rates.devices) {
    device.peak_flops[DataType::kFloat] = 1e12;
    device.memory_bandwidth = 1e11;
  }
  EXPECT_EQ(caveat(Predictor(with_rates)), "");
}

// Input: launches of 1000 ns and of 5000 ns. Law: the step differs by two launches; gaps count once.
TEST(PredictorTest, AddsLaunchesAndGaps) {
  const TwoOps step;
  const int64_t fast = step.StepBy(Predictor(step.machine, step.Table(1000, 0)));
  EXPECT_EQ(step.StepBy(Predictor(step.machine, step.Table(5000, 0))), fast + 2 * 4000);
  EXPECT_EQ(step.StepBy(Predictor(step.machine, step.Table(1000, 300))), fast + 300);
}

TEST(PredictorTest, WithoutATableItIsUncalibrated) {
  const TwoOps step;
  const Predictor predictor(step.machine);
  EXPECT_EQ(predictor.origin(), "uncalibrated");
  EXPECT_EQ(predictor.table(), nullptr);
  EXPECT_EQ(predictor.Predict(*step.workload, step.schedule).uncalibrated_share(), 1);
}

// Law: at twice the speed two launches of 1000 ns take 1000 ns less; the machine says so; copies stay.
TEST(PredictorTest, LaunchesFollowTheSpeed) {
  const TwoOps step;
  const Predictor predictor(step.machine, step.Table(1000, 0));
  IdVector<DeviceId, double> speed(step.machine.devices.size(), 1.0);
  const DeviceId gpu = step.machine.Gpus()[0];
  speed[gpu] = 2;
  const Predictor twice = predictor.At(step.machine, speed);
  EXPECT_EQ(step.StepBy(twice), step.StepBy(predictor) - 1000);
  EXPECT_EQ(twice.machine().device(gpu).memory_bandwidth, 2 * step.machine.device(gpu).memory_bandwidth);
}

// Law: remembering changes no prediction, of this graph, at another speed, and of another graph.
TEST(PredictorTest, RememberedLaunchesCostTheSame) {
  const TwoOps step, other;
  const Predictor plain(step.machine, step.Table(1000, 0));
  Predictor remembering = plain;
  remembering.RememberLaunches(step.workload->graph());
  IdVector<DeviceId, double> speed(step.machine.devices.size(), 1.0);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(step.StepByEstimates(remembering), step.StepBy(plain));
    EXPECT_EQ(other.StepByEstimates(remembering), other.StepBy(plain));
    speed.back() = speed[DeviceId(1)] = 4;
    EXPECT_EQ(step.StepByEstimates(remembering.At(step.machine, speed)),
              step.StepBy(plain.At(step.machine, speed)));
  }
}

// Law: an effect that is left out takes its time with it, and only its own.
TEST(PredictorTest, AblationNamesWhatTakesTime) {
  const TwoOps two;
  sims::CostTable table = two.Table(10'000, 3'000);
  sims::Dispatch dispatch;
  dispatch.ns[static_cast<size_t>(DeviceKind::kVirtual)] = {500, 0};
  table.effects.Put(dispatch);
  const Predictor predictor(two.machine, table);
  const int64_t step = two.StepBy(predictor);
  const std::vector<int64_t> without = predictor.Ablate(*two.workload, two.schedule);
  const auto effects = sims::AllEffects();
  ASSERT_EQ(without.size(), effects.size());
  for (size_t e = 0; e < effects.size(); ++e) {
    const int64_t expected = effects[e]->name == "step" ? 3'000 : effects[e]->name == "dispatch" ? 500 : 0;
    EXPECT_EQ(step - without[e], expected) << effects[e]->name;
  }
}

}  // namespace
}  // namespace lanescope::study
