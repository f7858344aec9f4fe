// SPDX-License-Identifier: Apache-2.0
// Placements that the search evaluates per second, one thread, on a graph of 300 tasks and two GPUs (items
// are evaluations). "model": random placements, each evaluated to its end; "move": each one random move from
// the last, and evaluated to its end; "chain": as annealing meets them, most of them given up early; "full":
// placed by the placer's rules, compiled, estimated and simulated, as every line of `simulate --batch` is
// (which draws an interval beside).
#include <benchmark/benchmark.h>

#include "sims/search/annealing.h"
#include "sims/search/placement_evaluator.h"
#include "tests/sims/placement_world.h"

namespace lanescope {
namespace {

// Pairs of ops, of which 300 tasks are left.
const sims::PlacementWorld& World() {
  static const sims::PlacementWorld world(1, 218, 10);
  return world;
}

std::vector<sims::PlacementState> RandomStates(const TaskGraph& tasks, int count) {
  std::mt19937 rng(1);
  std::vector<sims::PlacementState> states;
  for (int i = 0; i < count; ++i) states.push_back({World().RandomDevices(tasks, &rng), {}});
  return states;
}

void BM_Model(benchmark::State& state) {
  const StrategyInput input = World().input();
  const TaskGraph tasks(input);
  const sims::PlacementModel model(tasks, {});
  sims::PlacementEvaluator evaluator(model);
  const std::vector<sims::PlacementState> states = RandomStates(tasks, 64);
  size_t i = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(
        evaluator.Evaluate(states[i++ % states.size()], sims::PlacementEvaluator::kTooLong - 1));
  state.SetItemsProcessed(state.iterations());
  state.counters["tasks"] = tasks.num_tasks();
}

void BM_Move(benchmark::State& state) {
  const StrategyInput input = World().input();
  const TaskGraph tasks(input);
  const sims::PlacementModel model(tasks, {});
  const sims::MoveSpace space(tasks);
  sims::PlacementEvaluator evaluator(model);
  std::mt19937 rng(2);
  sims::PlacementState placed = RandomStates(tasks, 1).front();
  int64_t evaluations = 0;
  for (auto _ : state) {
    const int group = space.movable()[rng() % space.movable().size()];
    const std::vector<DeviceId>& devices = tasks.group(group).devices;
    placed.device[static_cast<size_t>(group)] = devices[rng() % devices.size()];
    benchmark::DoNotOptimize(evaluator.Evaluate(placed, sims::PlacementEvaluator::kTooLong - 1));
    ++evaluations;
  }
  state.SetItemsProcessed(evaluations);
  state.counters["spared"] = static_cast<double>(evaluator.spared()) / static_cast<double>(evaluations);
}

void BM_Chain(benchmark::State& state) {
  const StrategyInput input = World().input();
  const TaskGraph tasks(input);
  const sims::PlacementModel model(tasks, {});
  const sims::MoveSpace space(tasks);
  const sims::PlacementState start = RandomStates(tasks, 1).front();
  int64_t evaluations = 0;
  for (auto _ : state) evaluations += sims::Anneal(space, model, start, {.evaluations = 20'000}).evaluations;
  state.SetItemsProcessed(evaluations);
}

void BM_Full(benchmark::State& state) {
  const StrategyInput input = World().input();
  const TaskGraph tasks(input);
  const std::vector<sims::PlacementState> states = RandomStates(tasks, 64);
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        World().StepOf(tasks.ToPlacement(input, states[i++ % states.size()].device, {})));
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(BM_Model)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Move)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Chain)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Full)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lanescope
