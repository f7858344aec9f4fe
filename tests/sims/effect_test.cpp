// SPDX-License-Identifier: Apache-2.0
// Every effect: a step that it makes longer, by how much, and that nothing is left of it when it is left out.
#include "sims/effects/effect.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>

#include "core/schedule/stream_issue.h"
#include "sims/cost/cost_model.h"
#include "sims/effects/cache_transfers.h"
#include "sims/effects/copy_cores.h"
#include "sims/effects/cores.h"
#include "sims/effects/front_end.h"
#include "sims/effects/issue.h"
#include "sims/effects/machine_figures.h"
#include "sims/effects/progress_threads.h"
#include "sims/effects/run_queue_delay.h"
#include "sims/effects/shared_gpu.h"
#include "sims/effects/stream_handoff.h"
#include "sims/engine/effect_constants.h"
#include "sims/predict/predict.h"
#include "tests/sims/effects_of.h"
#include "tests/sims/schedule_maker.h"
#include "tests/support/paths.h"

namespace lanescope::sims {
namespace {

constexpr auto kVirtual = static_cast<size_t>(DeviceKind::kVirtual);
constexpr auto kCuda = static_cast<size_t>(DeviceKind::kCuda);
constexpr auto kLogical = static_cast<size_t>(DeviceKind::kLogical);

// Two GPUs, links of a byte a ns. Constants that a case does not set are zero.
struct World {
  Machine machine = StarMachine(2, 1e9, 0, 0);
  ScheduleMaker maker;
  PredictionSettings settings;

  explicit World(DeviceKind kind) {
    for (const DeviceId gpu : machine.Gpus()) {
      DeviceSpec& device = machine.devices[gpu];
      device.kind = kind;
      device.in_order = device.is_hardware();
      if (kind == DeviceKind::kLogical) device.physical = 0;
    }
    settings.draws = 0;
  }
  template <typename E>
  void Put(const std::function<void(E*)>& fill) {
    auto effect = settings.effects.Get<E>();
    fill(&effect);
    settings.effects.Put(effect);
  }
  DeviceId gpu(int i) const { return machine.Gpus()[static_cast<size_t>(i)]; }
  int64_t StepNs() {
    Schedule schedule = maker.Build();
    const auto is_stream = [&](const Queue& queue) { return IsStream(queue, machine); };
    if (std::ranges::any_of(schedule.queues, is_stream))
      schedule.issue.assign(schedule.commands.size(), StreamIssue::kSingle);
    CommandEstimates estimates;
    estimates.costs.ns = maker.ns();
    if (std::ranges::any_of(machine.devices,
                            [](const DeviceSpec& d) { return d.kind == DeviceKind::kLogical; }))
      estimates.costs.cores.assign(maker.ns().size(), static_cast<int>(kEffectConstants.gpu_pieces));
    estimates.basis.assign(maker.ns().size(), CostBasis::kMeasured);
    return Predict(schedule, machine, estimates, settings).step_ns;
  }
};

struct Case {
  DeviceKind kind;
  std::function<void(World*)> make;  // fills the maker and sets the effect's constants
  int64_t with_ns, without_ns;
};

const std::map<std::string, Case>& Cases() {
  static const std::map<std::string, Case> cases = {
      {"step",
       {DeviceKind::kVirtual,
        [](World* w) {
          w->maker.Launch(w->maker.Queue(w->gpu(0)), 1000);
          w->Put<StepOverhead>([](StepOverhead* step) {
            step->start_ns = 7;
            step->finish_ns = 3;
          });
        },
        1010, 1000}},
      {"dispatch",
       {DeviceKind::kVirtual,
        [](World* w) {
          const QueueId queue = w->maker.Queue(w->gpu(0));
          for (int i = 0; i < 3; ++i) w->maker.Launch(queue, 1000);
          w->Put<Dispatch>([](Dispatch* gaps) { gaps->ns[kVirtual] = {5, 0}; });
        },
        3010, 3000}},
      {"hand-off",
       {DeviceKind::kVirtual,
        [](World* w) {
          const CommandId first = w->maker.Launch(w->maker.Queue(w->gpu(0)), 1000);
          w->maker.Launch(w->maker.Queue(w->gpu(1)), 1000, {first});
          w->Put<HandOff>([](HandOff* handoff) { handoff->ns[0][0] = 10; });
        },
        2010, 2000}},
      {"wake-up",
       {DeviceKind::kVirtual,
        [](World* w) {
          w->maker.Launch(w->maker.Queue(w->gpu(0)), 1000);
          w->Put<WakeUp>([](WakeUp* wake) { wake->ns[kVirtual] = {100, 0}; });
        },
        1100, 1000}},
      // The third launch is ready at 100, when its driver sleeps and a launch of 600 has one of two cores.
      {"run-queue delay",
       {DeviceKind::kVirtual,
        [](World* w) {
          const DeviceId third = w->machine.devices.Add(w->machine.device(w->gpu(1)));
          const CommandId first = w->maker.Launch(w->maker.Queue(w->gpu(0)), 100);
          w->maker.Launch(w->maker.Queue(w->gpu(1)), 700);
          w->maker.Launch(w->maker.Queue(third), 1000, {first});
          w->Put<HandOff>([](HandOff* handoff) { handoff->ns[0][0] = 10; });
          w->Put<Cores>([](Cores* cores) { cores->cores = 2; });
          w->Put<RunQueueDelay>([](RunQueueDelay* wait) { wait->slice_ns = 400; });
        },
        1310, 1110}},
      // While the copy moves for 400 ns, the launch gets 1 / 1.25 of its core and does 320 of its 1000.
      {"copies' cores",
       {DeviceKind::kVirtual,
        [](World* w) {
          w->maker.Launch(w->maker.Queue(w->gpu(0)), 1000);
          w->maker.Copy(w->maker.Queue(w->gpu(0), QueueKind::kCopyOut), w->gpu(0), w->gpu(1), 400, 400);
          w->Put<Cores>([](Cores* cores) { cores->cores = 2; });
          w->Put<CopyCores>([](CopyCores* copies) { copies->cores = 0.5; });
        },
        1080, 1000}},
      {"cores",
       {DeviceKind::kVirtual,
        [](World* w) {
          for (int i = 0; i < 2; ++i) w->maker.Launch(w->maker.Queue(w->gpu(i)), 1000);
          w->Put<Cores>([](Cores* cores) { cores->cores = 1; });
        },
        2000, 1000}},
      // Two messages of 1000 at once: the second waits for 100 at both of its ends.
      {"progress threads",
       {DeviceKind::kVirtual,
        [](World* w) {
          w->machine = ParseMachine(R"({"devices": [{"name": "/job:w/task:0/CPU:0", "kind": "host"},
            {"name": "/job:w/task:1/CPU:0", "kind": "host"}],
            "links": [{"between": ["/job:w/task:0/CPU:0", "/job:w/task:1/CPU:0"], "bandwidth": "1GB/s"}]})");
          for (int i = 0; i < 2; ++i)
            w->maker.Copy(w->maker.Queue(DeviceId(0), QueueKind::kCopyOut), DeviceId(0), DeviceId(1), 0,
                          1000);
          w->Put<ProgressThreads>(
              [](ProgressThreads* progress_threads) { progress_threads->overhead_ns = 100; });
        },
        1100, 1000}},
      {"gap",
       {DeviceKind::kCuda,
        [](World* w) {
          const QueueId queue = w->maker.Queue(w->gpu(0), QueueKind::kCompute, true);
          for (int i = 0; i < 3; ++i) w->maker.Launch(queue, 1000);
          w->Put<StreamGap>([](StreamGap* gaps) { gaps->ns[kCuda] = {0, 0, 0, 5}; });
        },
        3010, 3000}},
      // The third is not issued before three times the time of one.
      {"issue",
       {DeviceKind::kCuda,
        [](World* w) {
          const QueueId queue = w->maker.Queue(w->gpu(0), QueueKind::kCompute, true);
          for (int i = 0; i < 3; ++i) w->maker.Launch(queue, 10);
          w->Put<Issue>([](Issue* issue) { issue->times.single_ns = 300; });
        },
        910, 30}},
      // The one waits for the other.
      {"stream hand-off",
       {DeviceKind::kCuda,
        [](World* w) {
          const QueueId compute = w->maker.Queue(w->gpu(0), QueueKind::kCompute, true);
          const QueueId copies = w->maker.Queue(w->gpu(0), QueueKind::kCopyOut, true);
          w->maker.Launch(copies, 1000, {w->maker.Launch(compute, 1000)});
          w->Put<StreamHandOff>([](StreamHandOff* handoff) { handoff->between_ns = 100; });
        },
        2100, 2000}},
      // The second launch of the one stream begins when the other waits for it: after 1.9 gaps, for 0.9 more.
      {"front end",
       {DeviceKind::kLogical,
        [](World* w) {
          const QueueId queue = w->maker.Queue(w->gpu(0), QueueKind::kCompute, true);
          w->maker.Launch(queue, 1000);
          w->maker.Launch(w->maker.Queue(w->gpu(1), QueueKind::kCompute, true), 1000,
                          {w->maker.Launch(queue, 1000)});
          w->Put<StreamGap>([](StreamGap* gaps) { gaps->ns[kLogical] = {0, 0, 0, 100}; });
          w->Put<Issue>([](Issue* issue) { issue->times.single_ns = 10; });
          w->Put<FrontEnd>([](FrontEnd*) {});
        },
        3290, 3110}},
      // Each fills the GPU.
      {"shared GPU",
       {DeviceKind::kLogical,
        [](World* w) {
          for (int i = 0; i < 2; ++i) w->maker.Launch(w->maker.Queue(w->gpu(i)), 1000);
          w->Put<SharedGpu>([](SharedGpu* gpu) { gpu->slowdown[1][1] = 1.5; });
        },
        1500, 1000}},
      {"link sharing",
       {DeviceKind::kCuda,
        [](World* w) {
          for (int i = 0; i < 2; ++i)
            w->maker.Copy(w->maker.Queue(w->gpu(0), QueueKind::kCopyOut), w->gpu(0), w->gpu(1), 400, 400);
        },
        800, 400}},
  };
  return cases;
}

TEST(Effects, TakeTheTimeThatTheirConstantsSayAndNoneWhenLeftOut) {
  for (const EffectKind* effect : AllEffects()) {
    SCOPED_TRACE(effect->name);
    EXPECT_FALSE(effect->source.empty());
    if (effect->name == "cache transfers") continue;  // of what a launch costs: below
    const auto found = Cases().find(std::string(effect->name));
    ASSERT_NE(found, Cases().end()) << "an effect without a test";
    World world(found->second.kind);
    found->second.make(&world);
    EXPECT_EQ(world.StepNs(), found->second.with_ns);
    world.settings.effects.Remove(*effect);
    EXPECT_EQ(world.StepNs(), found->second.without_ns);
  }
}

// The second stream's launch has waited for the first one's, whose next one runs meanwhile: one look within
// it takes 0.9 gaps.
TEST(Effects, TheFrontEndLooksAtWhatRunsBesideALaunchThatWaited) {
  World world(DeviceKind::kLogical);
  const QueueId queue = world.maker.Queue(world.gpu(0), QueueKind::kCompute, true);
  const CommandId first = world.maker.Launch(queue, 1000);
  world.maker.Launch(queue, 1000);
  world.maker.Launch(world.maker.Queue(world.gpu(1), QueueKind::kCompute, true), 2000, {first});
  world.Put<StreamGap>([](StreamGap* gaps) { gaps->ns[kLogical] = {0, 0, 0, 100}; });
  world.Put<Issue>([](Issue* issue) { issue->times.single_ns = 10; });
  world.Put<FrontEnd>([](FrontEnd*) {});
  EXPECT_EQ(world.StepNs(), 10 + 1000 + 2000 + 90);
}

// Law: what is left out is that effect and no other.
TEST(Effects, LeaveEachOtherAlone) {
  for (const auto& [name, of] : Cases()) {
    World world(of.kind);
    of.make(&world);
    for (const EffectKind* effect : AllEffects()) {
      // Without cores nobody waits for one, and copies take none; without hand-offs no driver sleeps.
      const bool needed =
          effect->name == "cores" || (name == "run-queue delay" && effect->name == "hand-off");
      const bool of_streams = effect->name == "gap" || effect->name == "issue";
      if (name == "front end" && of_streams) continue;
      if (effect->name == name || ((name == "copies' cores" || name == "run-queue delay") && needed))
        continue;
      world.settings.effects.Remove(*effect);
    }
    EXPECT_EQ(world.StepNs(), of.with_ns) << name;
  }
}

// Law: without "cores" there are enough for all, on every computer.
TEST(Effects, CoresAreOfAllComputers) {
  World world(DeviceKind::kVirtual);
  for (int i = 0; i < 2; ++i) world.maker.Launch(world.maker.Queue(world.gpu(i)), 1000);
  world.Put<Cores>([](Cores* cores) { cores->others = {{{"/job:localhost/task:0"}, 1, {}}}; });
  EXPECT_EQ(world.StepNs(), 2000);
  for (const EffectKind* effect : AllEffects()) {
    if (effect->name == "cores") world.settings.effects.Remove(*effect);
  }
  EXPECT_EQ(world.StepNs(), 1000);
}

// Law: every constant is of an effect, and docs/reference/cost-model.md has it in its table, with value, unit
// and source.
TEST(Effects, ConstantsAreDocumented) {
  std::ifstream file(test::SourceDir() + "/docs/reference/cost-model.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const Constant* constant : AllEffectConstants()) {
    const auto effects = AllEffects();
    EXPECT_TRUE(std::any_of(effects.begin(), effects.end(), [&](const EffectKind* effect) {
      return effect->name == constant->effect;
    })) << constant->effect;
    const std::string row = fmt::format("\n| `{}` | {} | {} | {} | {} |\n", constant->name, constant->effect,
                                        constant->value, constant->unit, constant->source);
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

// A launch pays for what a copy brought, once.
TEST(Effects, FetchesAreOfTheFirstReaderOfACopy) {
  World world(DeviceKind::kVirtual);
  const QueueId on = world.maker.Queue(world.gpu(1));
  const CommandId copy = world.maker.Copy(world.maker.Queue(world.gpu(1), QueueKind::kCopyIn), world.gpu(0),
                                          world.gpu(1), 400, 400);
  world.maker.Launch(on, 0, {copy});
  world.maker.Launch(on, 0, {copy});
  world.Put<CacheTransfers>([](CacheTransfers* fetches) {
    fetches->curve = CacheTransferCurve({{800, 60}});
  });
  CostTable table;
  table.launches.push_back({"A", "A", CostDevice(world.machine.device(world.gpu(1))), 1000, 0, 1, {}});
  const Schedule schedule = world.maker.Build();
  const IdVector<CommandId, SignedWork> work = {{}, {"A", "A", {}}, {"A", "A", {}}};
  const auto launches = [&] {
    return EstimateCommands(schedule, work, world.machine, CalibratedCost(table), world.settings).costs.ns;
  };
  EXPECT_EQ(launches()[CommandId(1)], 1030);
  EXPECT_EQ(launches()[CommandId(2)], 1000);
  for (const EffectKind* effect : AllEffects()) {
    if (effect->name == "cache transfers") world.settings.effects.Remove(*effect);
  }
  EXPECT_EQ(launches()[CommandId(1)], 1000);
}

// Laws: what microbenchmarks found is in the effects that it is of; messages that nobody measured are of
// none. A measured launch is less what fetching took.
TEST(EffectTest, FiguresOfAMachineAreOfTheirEffects) {
  MachineFigures figures;
  figures.cores = 4;
  figures.copy_cores = 0.25;
  figures.slice_ns = 3000;
  figures.gpu_slowdown[0][1] = 1.5;
  figures.gpu_slowdown[1][0] = 0.9;  // noise
  figures.fetches = {{100, 40}};
  EXPECT_EQ(EffectsOf(figures).Find<ProgressThreads>(), nullptr);
  figures.message = {7, 0.5};
  figures.other_computers = {{{"/job:worker/task:1"}, 2, {0.5, 0.5}}};
  const EffectSet effects = EffectsOf(figures);
  EXPECT_EQ(effects.Get<Cores>().cores, 4);
  EXPECT_EQ(effects.Get<Cores>().others.size(), 1u);
  EXPECT_EQ(effects.Get<CopyCores>().cores, 0.25);
  EXPECT_EQ(effects.Get<RunQueueDelay>().slice_ns, 3000);
  EXPECT_EQ(effects.Get<SharedGpu>().slowdown[0][1], 1.5);
  EXPECT_EQ(effects.Get<SharedGpu>().slowdown[1][0], 1);
  EXPECT_EQ(effects.Get<ProgressThreads>().overhead_ns, 7);
  EXPECT_EQ(effects.Get<ProgressThreads>().byte_ns, 0.5);
  const Machine machine = StarMachine(1, 1e9, 0, 0);
  EXPECT_EQ(effects.Without({{}, 100, 100, machine.host()}, machine), 60);
}

}  // namespace
}  // namespace lanescope::sims
