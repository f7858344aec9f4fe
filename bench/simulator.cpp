// SPDX-License-Identifier: Apache-2.0
// Speed of the simulator: tasks (ops and copies) per second on a random graph over 8 devices in a star, links
// of 12.5 GB/s, a shared backbone of 25 GB/s. "alone": copies take their time alone; "shared": max-min fair
// links; "frozen": step times by one pass, without events. "prepare" includes reading the schedule, as the
// first simulation of a schedule does.
#include "sims/engine/simulator.h"

#include <benchmark/benchmark.h>

#include "sims/engine/simulation_model.h"
#include "tests/sims/schedule_maker.h"

namespace lanescope {
namespace {

struct Setting {
  Machine machine = sims::StarMachine(8, 12.5e9, 1000, 25e9);
  Schedule schedule;
  sims::CommandCosts costs;

  // About `tasks` commands: seven of eight launches have a copy before them.
  Setting(int64_t tasks, int64_t window, bool in_order = false) {
    sims::ScheduleMaker maker = sims::RandomStarSchedule(machine, static_cast<int>(tasks * 8 / 15),
                                                         static_cast<int>(window), 7, in_order);
    costs.ns = maker.ns();
    schedule = maker.Build();
  }
};

void Count(benchmark::State& state, const Setting& setting) {
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(setting.schedule.commands.size()));
}

void BM_Run(benchmark::State& state, bool share_links) {
  const Setting setting(state.range(0), state.range(1));
  sims::Simulator simulator(setting.schedule, setting.machine, {.share_links = share_links});
  sims::SimulationResult result;
  for (auto _ : state) simulator.Run(setting.costs, &result);
  Count(state, setting);
}

// Step times alone, in a frozen order: in-order queues, copies alone.
void BM_FrozenOrder(benchmark::State& state) {
  const Setting setting(state.range(0), state.range(1), true);
  sims::Simulator simulator(setting.schedule, setting.machine, {});
  sims::SimulationResult result;
  simulator.Run(setting.costs, &result);
  simulator.Freeze(result);
  for (auto _ : state) benchmark::DoNotOptimize(simulator.StepNs(setting.costs));
  if (simulator.passes() == 0) state.SkipWithError("simulated");
  Count(state, setting);
}

void BM_PrepareAndRun(benchmark::State& state, bool share_links) {
  const Setting setting(state.range(0), state.range(1));
  const sims::SimulationModel model{.share_links = share_links};
  for (auto _ : state)
    benchmark::DoNotOptimize(sims::Simulate(setting.schedule, setting.machine, setting.costs, model).step_ns);
  Count(state, setting);
}

// The effects that cost extra events: gaps and hand-offs, and interference of host devices.
void BM_AllEffects(benchmark::State& state) {
  Setting setting(state.range(0), state.range(1));
  for (DeviceSpec& device : setting.machine.devices) {
    if (device.kind == DeviceKind::kModelled) device.kind = DeviceKind::kVirtual;
  }
  sims::SimulationModel model{.share_links = true};
  for (auto& classes : model.delays.gap_ns) classes.fill(300);
  for (auto& classes : model.delays.handoff_ns) classes.fill(2000);
  model.interference.emplace().host = {
      .slowdown = {{{1.1, 1.2, 1.3}, {1.2, 1.5, 1.6}, {1.0, 1.1, 1.2}}}, .cores = 4, .copy_cores = 0.3};
  sims::Simulator simulator(setting.schedule, setting.machine, model);
  sims::SimulationResult result;
  for (auto _ : state) simulator.Run(setting.costs, &result);
  Count(state, setting);
}

void Sizes(benchmark::internal::Benchmark* bench) {
  for (const int64_t tasks : {1'000, 10'000, 100'000, 1'000'000}) bench->Args({tasks, 256});
  bench->Args({1'000'000, 1'000'000})->ArgNames({"tasks", "window"})->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(BM_Run, alone, false)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Run, shared, true)->Apply(Sizes);
BENCHMARK(BM_FrozenOrder)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_PrepareAndRun, alone, false)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_PrepareAndRun, shared, true)->Apply(Sizes);
BENCHMARK(BM_AllEffects)->Args({100'000, 256})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lanescope
