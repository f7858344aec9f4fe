// SPDX-License-Identifier: Apache-2.0
// Devices whose commands share several workers.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/graph/graph_builder.h"
#include "core/schedule/cost.h"
#include "core/schedule/schedule.h"
#include "sims/engine/simulator.h"
#include "sims/predict/predict.h"
#include "tests/sims/effects_of.h"
#include "tests/sims/random_schedule.h"
#include "tests/support/random_graph.h"

namespace lanescope::sims {
namespace {

// Six products of their own, [size, size] each, on CPU:0 with so many workers.
Prediction PredictProducts(int64_t size, int workers) {
  GraphBuilder builder;
  std::vector<std::string> targets;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{size, size});
  for (int i = 0; i < 6; ++i) {
    targets.push_back("product" + std::to_string(i));
    builder.Op("MatMul", targets.back()).Input(x).Input(x).Build();
  }
  const Graph& graph = builder.graph();
  CompileRequest request = test::RequestFor(graph, {}, targets);
  TensorInfo fed;
  fed.dtype = DataType::kFloat;
  fed.shape = Shape{size, size};
  request.feeds.emplace_back(x, fed);
  Machine machine = VirtualMachine(1, 1);
  machine.devices[machine.host()].workers = workers;
  Placement placement;
  placement.device.assign(graph.num_nodes(), machine.host());
  const GraphInfo info = InferGraph(graph, request.feeds);
  const Schedule schedule = Compile(graph, info, request, placement, machine);
  VerifySchedule(graph, schedule);
  return Predict(graph, info, schedule, machine, RooflineCost(), {});
}

// Law: products that keep one worker busy each share the device's workers; those that can use all run one
// after the other.
TEST(SharedWorkers, SmallProductsRunSideBySide) {
  const int64_t alone = PredictProducts(64, 1).step_ns;
  EXPECT_EQ(PredictProducts(64, 2).step_ns * 2, alone);
  EXPECT_EQ(PredictProducts(64, 3).step_ns * 3, alone);
  EXPECT_EQ(PredictProducts(64, 6).step_ns * 6, alone);
  EXPECT_EQ(PredictProducts(64, 64).step_ns * 6, alone);
  EXPECT_EQ(PredictProducts(512, 2).step_ns, PredictProducts(512, 1).step_ns);
}

// Law: a device is busy while at least one of its commands runs.
TEST(SharedWorkers, ABusyShareIsAtMostOne) {
  for (const int workers : {1, 2, 4}) {
    const Prediction prediction = PredictProducts(64, workers);
    EXPECT_DOUBLE_EQ(prediction.busy[VirtualMachine(1, 1).host()], 1.0) << workers;
  }
}

// Laws, at every start: the workers suffice, and nobody who was ready before and has a smaller rank waits.
TEST(SharedWorkers, TheRuleHoldsAtEveryStart) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ScheduleMaker maker;
    const int workers = 2 + random.below(4);
    const QueueId queue = maker.Queue(DeviceId(0));
    for (int c = 0; c < 40; ++c) {
      std::vector<CommandId> after;
      for (int p = 0; p < c; ++p) {
        if (random.below(c) < 2) after.emplace_back(p);
      }
      maker.Launch(queue, 1 + random.below(1000), after);
    }
    Schedule schedule = maker.Build();
    schedule.queues[QueueId(0)].workers = workers;
    for (Command& command : schedule.commands) command.workers = 1 + random.below(workers);
    const SimulationResult result = Simulate(schedule, VirtualMachine(1, 1), {.ns = maker.ns()}, ModelOf());
    const auto& times = result.times;
    const auto runs_at = [&](CommandId c, int64_t at) {
      return times[c].start_ns <= at && at < times[c].end_ns;
    };
    for (const CommandId c : times.ids()) {
      int used = 0;
      for (const CommandId other : times.ids()) {
        if (runs_at(other, times[c].start_ns)) used += schedule.commands[other].workers;
      }
      EXPECT_LE(used, workers);
      for (CommandId other{0}; other < c; ++other) {
        int64_t ready = 0;
        for (const CommandId p : maker.predecessors()[other]) ready = std::max(ready, times[p].end_ns);
        EXPECT_FALSE(ready <= times[c].start_ns && times[other].start_ns > times[c].start_ns)
            << "#" << c.number() << " passed #" << other.number();
      }
    }
    int64_t total = 0;
    for (const CommandId c : times.ids()) total += maker.ns()[c] * schedule.commands[c].workers;
    EXPECT_GE(result.step_ns * workers, total);
  }
}

}  // namespace
}  // namespace lanescope::sims
