// SPDX-License-Identifier: Apache-2.0
#include "sims/engine/interference.h"

#include <gtest/gtest.h>

#include "sims/engine/effect_constants.h"
#include "sims/engine/simulator.h"
#include "tests/sims/effects_of.h"
#include "tests/sims/schedule_maker.h"

namespace lanescope::sims {
namespace {

constexpr SlowdownMatrix kSlowdown = {{{1.1, 1.2, 1.05}, {1.3, 2.0, 1.5}, {1.0, 1.25, 1.0}}};

double Slowdown(const InterferenceMatrix& matrix, const DomainLoad& load, WorkClass victim) {
  return DomainSlowdown(matrix, load).Of(victim);
}

// Law: 1 + sum over the others of (factor - 1).
TEST(Slowdown, CommandsSufferTheMatrix) {
  const InterferenceMatrix matrix = {.slowdown = kSlowdown};
  EXPECT_DOUBLE_EQ(Slowdown(matrix, {{0, 2, 0}, 2}, WorkClass::kMemory), 2.0);
  EXPECT_DOUBLE_EQ(Slowdown(matrix, {{1, 1, 0}, 2}, WorkClass::kMemory), 1.3);
  EXPECT_DOUBLE_EQ(Slowdown(matrix, {{1, 2, 1}, 4}, WorkClass::kMemory), 2.8);
  EXPECT_DOUBLE_EQ(Slowdown(matrix, {{0, 1, 0}, 1}, WorkClass::kMemory), 1);
}

// Law: launches that together fit a GPU do not slow each other down; of those that ask for u times its pieces
// each takes 1 + (u - 1) * (factor - 1), and a copy counts by itself.
TEST(Slowdown, AGpuIsSharedByPieces) {
  const InterferenceMatrix matrix = {.slowdown = kSlowdown, .pieces = 100};
  EXPECT_DOUBLE_EQ(Slowdown(matrix, {{0, 2, 0}, 90, 0, {0, 90, 0}}, WorkClass::kMemory), 1);
  EXPECT_DOUBLE_EQ(Slowdown(matrix, {{0, 2, 0}, 150, 0, {0, 150, 0}}, WorkClass::kMemory), 1.5);
  EXPECT_DOUBLE_EQ(Slowdown(matrix, {{0, 2, 0}, 200, 0, {0, 200, 0}}, WorkClass::kMemory), 2);
  EXPECT_DOUBLE_EQ(Slowdown(matrix, {{0, 1, 1}, 100, 0, {0, 100, 0}}, WorkClass::kMemory), 1.5);
}

// Law: what is asked for beyond the cores slows all in proportion; a copy meets a launch on one core of two
// although both would fit.
TEST(Slowdown, CoresAreShared) {
  const InterferenceMatrix matrix = {.cores = 2, .copy_cores = 0.5};
  EXPECT_DOUBLE_EQ(Slowdown(matrix, {{3, 0, 0}, 3}, WorkClass::kCompute), 1.5);
  EXPECT_DOUBLE_EQ(Slowdown(matrix, {{1, 0, 1}, 1.5, 0.5}, WorkClass::kCompute), 1.25);
  EXPECT_DOUBLE_EQ(Slowdown(matrix, {{1, 0, 1}, 1.5, 0.5}, WorkClass::kCopy), 1);
}

// Law: a progress thread, which is of the load, meets all others on one core of the two alike.
TEST(Slowdown, ProgressThreadsWakeOnAnyCore) {
  const InterferenceMatrix matrix = {.cores = 2};
  EXPECT_DOUBLE_EQ(DomainSlowdown(matrix, {{0, 1, 0}, 1, 1}).OfProgressThread(), 1);
  EXPECT_DOUBLE_EQ(DomainSlowdown(matrix, {{0, 2, 0}, 2, 1}).OfProgressThread(), 1.5);
  EXPECT_DOUBLE_EQ(Slowdown(matrix, {{0, 2, 0}, 2, 1}, WorkClass::kMemory), 1.5);
  EXPECT_DOUBLE_EQ(DomainSlowdown({}, {{0, 2, 0}, 2, 1}).OfProgressThread(), 1) << "enough for all";
}

class TwoVirtualGpus : public testing::Test {
 protected:
  TwoVirtualGpus() {
    for (int i = 0; i < 2; ++i) machine_.devices[gpu(i)].kind = DeviceKind::kVirtual;
    maker_.Launch(maker_.Queue(gpu(0)), 1000);
    maker_.Launch(maker_.Queue(gpu(1)), 1000);
  }
  DeviceId gpu(int i) const { return machine_.Gpus()[static_cast<size_t>(i)]; }

  Machine machine_ = StarMachine(2, 1e9, 0, 0);
  ScheduleMaker maker_;
  Interference interference_;
};

// Both run beside each other from beginning to end, each twice as long.
TEST_F(TwoVirtualGpus, SlowEachOtherByTheMatrix) {
  interference_.host.slowdown = kSlowdown;
  const Schedule schedule = maker_.Build();
  EXPECT_EQ(Simulate(schedule, machine_, {maker_.ns()}, ModelOf({}, &interference_)).step_ns, 2000);
}

// A device of two workers whose op fits one core leaves the other to its neighbour.
TEST_F(TwoVirtualGpus, OnlyCoresReallyDemandedCount) {
  for (int i = 0; i < 2; ++i) machine_.devices[gpu(i)].workers = 2;
  interference_.host.cores = 2;
  const Schedule schedule = maker_.Build();
  const auto step = [&](IdVector<CommandId, int> cores) {
    return Simulate(schedule, machine_, {maker_.ns(), {}, std::move(cores)}, ModelOf({}, &interference_))
        .step_ns;
  };
  EXPECT_EQ(step({1, 1}), 1000);
  EXPECT_EQ(step({2, 2}), 2000);
  EXPECT_EQ(step({}), 2000);  // all workers, where nothing is said
}

// The copy's driver wakes at 100 with a launch of 600 left on one of two cores: it waits for (600 / 2), or
// for half of the slice where that is shorter. The launch shares its core with the copy nowhere: no
// copy_cores.
TEST_F(TwoVirtualGpus, ADriverWaitsForACoreWhereALaunchRuns) {
  ScheduleMaker maker;
  const QueueId a = maker.Queue(gpu(0)), b = maker.Queue(gpu(1)),
                out = maker.Queue(gpu(0), QueueKind::kCopyOut);
  const CommandId first = maker.Launch(a, 100);
  maker.Launch(b, 700);
  maker.Copy(out, gpu(0), gpu(1), 50, 50, {first});
  const Schedule schedule = maker.Build();
  interference_.host.cores = 2;
  Delays gaps;
  gaps.handoff_ns[0][1] = 10;
  const auto start = [&](int64_t slice) {
    interference_.host.slice_ns = slice;
    return Simulate(schedule, machine_, {maker.ns()}, ModelOf(gaps, &interference_))
        .times[CommandId(2)]
        .start_ns;
  };
  EXPECT_EQ(start(0), 110);
  EXPECT_EQ(start(5000), 410);
  EXPECT_EQ(start(400), 310);
  EXPECT_EQ(start(kEffectConstants.endless_slice_ns), 110) << "the other core is free";
}

// A paced copy sleeps while its bytes move: its driver wakes at 50 with a launch of 650 left on one of two
// cores.
TEST_F(TwoVirtualGpus, ACopyWaitsForACoreToEnd) {
  ScheduleMaker maker;
  maker.Launch(maker.Queue(gpu(1)), 700);
  maker.Copy(maker.Queue(gpu(0), QueueKind::kCopyOut), gpu(0), gpu(1), 50, 50);
  const Schedule schedule = maker.Build();
  interference_.host.cores = 2;
  const auto end = [&](int64_t slice) {
    interference_.host.slice_ns = slice;
    return Simulate(schedule, machine_, {maker.ns()}, ModelOf({}, &interference_)).times[CommandId(1)].end_ns;
  };
  EXPECT_EQ(end(0), 50);
  EXPECT_EQ(end(5000), 375);
  EXPECT_EQ(end(400), 250);
  EXPECT_EQ(end(kEffectConstants.endless_slice_ns), 50) << "the other core is free";
}

// Threads that keep their cores take both, and the launch that ends first has 300 left.
TEST_F(TwoVirtualGpus, ADriverWithoutSlicesWaitsForTheFirstFreeCore) {
  ScheduleMaker maker;
  const QueueId out = maker.Queue(gpu(0), QueueKind::kCopyOut);
  const CommandId first = maker.Launch(maker.Queue(gpu(0)), 100);
  maker.Launch(maker.Queue(gpu(1)), 700);
  maker.Launch(maker.Queue(machine_.host()), 400);
  maker.Copy(out, gpu(0), gpu(1), 50, 50, {first});
  const Schedule schedule = maker.Build();
  interference_.host = {.cores = 2, .slice_ns = kEffectConstants.endless_slice_ns};
  Delays gaps;
  gaps.handoff_ns[0][1] = 10;
  const CommandCosts costs = {maker.ns(), {}, {0, 1, 1, 0}};
  EXPECT_EQ(Simulate(schedule, machine_, costs, ModelOf(gaps, &interference_)).times[CommandId(3)].start_ns,
            410);
}

}  // namespace
}  // namespace lanescope::sims
