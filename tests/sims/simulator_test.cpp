// SPDX-License-Identifier: Apache-2.0
#include "sims/engine/simulator.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "sims/engine/interference.h"
#include "sims/engine/simulation_model.h"
#include "tests/sims/effects_of.h"
#include "tests/sims/schedule_maker.h"

namespace lanescope::sims {
namespace {

// Two GPUs (devices 1 and 2, the host is 0) joined over the host: links of 1 byte per ns.
class SimulatorTest : public testing::Test {
 protected:
  SimulationResult Run(ScheduleMaker maker, const Delays& gaps = {},
                       const Interference* interference = nullptr, bool share_links = true) {
    schedule_ = maker.Build();
    SimulationModel model = ModelOf(gaps, interference);
    model.share_links = share_links;
    return Simulate(schedule_, machine_, {maker.ns(), classes_}, model);
  }
  DeviceId gpu(int i) const { return machine_.Gpus()[static_cast<size_t>(i)]; }

  Machine machine_ = StarMachine(3, 1e9, 0, 0);
  Schedule schedule_;
  IdVector<CommandId, WorkClass> classes_;
};

TEST_F(SimulatorTest, AnEmptyScheduleTakesTheStepOverhead) {
  // step = start + finish.
  Delays gaps;
  gaps.step_start_ns = 30;
  gaps.step_finish_ns = 12;
  EXPECT_EQ(Run({}, gaps).step_ns, 42);
}

TEST_F(SimulatorTest, AChainTakesTheSumOfItsParts) {
  // 10 + 20 + 30.
  ScheduleMaker maker;
  const QueueId a = maker.Queue(gpu(0)), b = maker.Queue(gpu(1));
  const CommandId first = maker.Launch(a, 10);
  const CommandId second = maker.Launch(b, 20, {first});
  maker.Launch(a, 30, {second});
  const SimulationResult result = Run(maker);
  EXPECT_EQ(result.step_ns, 60);
  EXPECT_EQ(result.times[CommandId(1)].start_ns, 10);
  EXPECT_EQ(result.times[CommandId(2)].start_ns, 30);
  EXPECT_EQ(result.queue_busy_ns, (IdVector<QueueId, int64_t>{40, 20}));
}

TEST_F(SimulatorTest, AForkJoinTakesTheLongestBranch) {
  // 5 + max(7, 11, 3) + 2.
  ScheduleMaker maker;
  const QueueId a = maker.Queue(gpu(0)), b = maker.Queue(gpu(1)), c = maker.Queue(gpu(2));
  const CommandId fork = maker.Launch(a, 5);
  const CommandId x = maker.Launch(a, 7, {fork}), y = maker.Launch(b, 11, {fork}),
                  z = maker.Launch(c, 3, {fork});
  maker.Launch(a, 2, {x, y, z});
  EXPECT_EQ(Run(maker).step_ns, 18);
}

TEST_F(SimulatorTest, APipelineTakesFillPlusSlowestStage) {
  // m items through stages of 4, 6, 5: 4 + 6m + 5.
  constexpr int kItems = 10;
  ScheduleMaker maker;
  const QueueId q[3] = {maker.Queue(gpu(0)), maker.Queue(gpu(1)), maker.Queue(gpu(2))};
  for (int item = 0; item < kItems; ++item) {
    const CommandId a = maker.Launch(q[0], 4);
    const CommandId b = maker.Launch(q[1], 6, {a});
    maker.Launch(q[2], 5, {b});
  }
  EXPECT_EQ(Run(maker).step_ns, 4 + 6 * kItems + 5);
}

TEST_F(SimulatorTest, OneCopyEngineSerialisesWhatTwoOverlap) {
  // Two copies of 100 ns in opposite directions: 200 on one engine, 100 on two.
  for (const bool two : {false, true}) {
    ScheduleMaker maker;
    const QueueId in = maker.Queue(gpu(0), QueueKind::kCopyIn);
    const QueueId out = two ? maker.Queue(gpu(0), QueueKind::kCopyOut) : in;
    maker.Copy(in, machine_.host(), gpu(0), 100, 100);
    maker.Copy(out, gpu(0), machine_.host(), 100, 100);
    EXPECT_EQ(Run(maker).step_ns, two ? 100 : 200);
  }
}

TEST_F(SimulatorTest, ReadyFirstOvertakesWhereInOrderWaits) {
  // On queue A: X (rank 0) waits until 50, Y (rank 1) is ready at 0. X and Y take 10.
  // In order: X 50..60, Y 60..70. Ready first: Y 0..10, X 50..60.
  for (const bool in_order : {true, false}) {
    ScheduleMaker maker;
    const QueueId a = maker.Queue(gpu(0), QueueKind::kCompute, in_order), b = maker.Queue(gpu(1));
    const CommandId source = maker.Launch(b, 50, {}, 2);
    maker.Launch(a, 10, {source}, 0);
    maker.Launch(a, 10, {}, 1);
    EXPECT_EQ(Run(maker).step_ns, in_order ? 70 : 60);
  }
}

TEST_F(SimulatorTest, ReadyFirstPicksTheSmallestRank) {
  ScheduleMaker maker;
  const QueueId a = maker.Queue(gpu(0));
  maker.Launch(a, 10, {}, 3);
  maker.Launch(a, 10, {}, 1);
  maker.Launch(a, 10, {}, 2);
  const SimulationResult result = Run(maker);
  EXPECT_EQ(result.times[CommandId(1)].start_ns, 0);
  EXPECT_EQ(result.times[CommandId(2)].start_ns, 10);
  EXPECT_EQ(result.times[CommandId(0)].start_ns, 20);
}

TEST_F(SimulatorTest, CopiesShareABus) {
  // Two copies of 100 bytes over a bus of 1 byte per ns: each at 1/2 until the smaller is done at 200.
  // Then 50 of the other's 150 bytes are left at full rate: 250 = total bytes / capacity.
  machine_ = StarMachine(3, 1e9, 0, 1e9);
  ScheduleMaker maker;
  const QueueId x = maker.Queue(gpu(0), QueueKind::kCopyIn), y = maker.Queue(gpu(1), QueueKind::kCopyIn);
  maker.Copy(x, machine_.host(), gpu(0), 100, 100);
  maker.Copy(y, machine_.host(), gpu(1), 150, 150);
  const SimulationResult shared = Run(maker);
  EXPECT_EQ(shared.times[CommandId(0)].end_ns, 200);
  EXPECT_EQ(shared.times[CommandId(1)].end_ns, 250);
  EXPECT_EQ(Run(maker, {}, nullptr, false).step_ns, 150);
}

// Over links of 4 bytes per ns, from a host whose interface carries 1 each way: two copies out share it, one
// in has it to itself.
TEST_F(SimulatorTest, CopiesBetweenTasksShareAnInterface) {
  machine_ = StarMachine(3, 4e9, 0, 0);
  for (const DeviceId d : machine_.devices.ids()) machine_.devices[d].parsed.task = d.number();
  machine_.nics.push_back({{machine_.host()}, 1e9});
  ScheduleMaker maker;
  const QueueId x = maker.Queue(gpu(0), QueueKind::kCopyIn), y = maker.Queue(gpu(1), QueueKind::kCopyIn);
  const QueueId z = maker.Queue(gpu(2), QueueKind::kCopyOut);
  maker.Copy(x, machine_.host(), gpu(0), 100, 100);
  maker.Copy(y, machine_.host(), gpu(1), 150, 150);
  maker.Copy(z, gpu(2), machine_.host(), 180, 180);
  const SimulationResult shared = Run(maker);
  EXPECT_EQ(shared.times[CommandId(0)].end_ns, 200);
  EXPECT_EQ(shared.times[CommandId(1)].end_ns, 250);
  EXPECT_EQ(shared.times[CommandId(2)].end_ns, 180);
}

TEST_F(SimulatorTest, LatencyPassesBeforeTheLinkIsUsed) {
  // Latency 40 (20 per hop); a copy alone takes 40 + 100. Two at a time on the destination's link: 40 + 200.
  machine_ = StarMachine(3, 1e9, 20, 0);
  ScheduleMaker maker;
  const QueueId in = maker.Queue(gpu(0), QueueKind::kCopyIn), out = maker.Queue(gpu(1), QueueKind::kCopyOut);
  maker.Copy(in, gpu(1), gpu(0), 100, 140);
  EXPECT_EQ(Run(maker).step_ns, 140);
  maker.Copy(out, gpu(2), gpu(0), 100, 140);
  EXPECT_EQ(Run(maker).step_ns, 240);
}

TEST_F(SimulatorTest, ACopyAloneTakesExactlyItsGivenTime) {
  // Slower than the link (a limit), faster (fewer bytes), shorter than the latency, of no bytes.
  machine_ = StarMachine(3, 1e9, 10, 0);
  for (const int64_t ns : {5, 19, 20, 21, 70, 120, 333, 1000}) {
    for (const int64_t bytes : {0, 1, 100}) {
      ScheduleMaker maker;
      maker.Copy(maker.Queue(gpu(0), QueueKind::kCopyIn), gpu(1), gpu(0), bytes, ns);
      EXPECT_NEAR(static_cast<double>(Run(maker).step_ns), static_cast<double>(ns), 1) << ns << " " << bytes;
    }
  }
}

TEST_F(SimulatorTest, GapsAndHandoffsDelayTheStart) {
  // Queue A: 0..10, gap 3, 13..23. The successor on B starts at 23 + handoff 5; B is idle, so no gap.
  ScheduleMaker maker;
  const QueueId a = maker.Queue(gpu(0)), b = maker.Queue(gpu(1));
  maker.Launch(a, 10);
  const CommandId second = maker.Launch(a, 10);
  maker.Launch(b, 10, {second});
  Delays gaps;
  gaps.gap_ns[static_cast<size_t>(DeviceKind::kModelled)] = {3, 0};
  gaps.handoff_ns[0][0] = 5;
  gaps.step_start_ns = 100;
  gaps.step_finish_ns = 1;
  const SimulationResult result = Run(maker, gaps);
  EXPECT_EQ(result.times[CommandId(1)].start_ns, 113);
  EXPECT_EQ(result.times[CommandId(2)].start_ns, 128);
  EXPECT_EQ(result.step_ns, 139);
  // Without each of them.
  Delays others = gaps;
  others.gap_ns = {};
  EXPECT_EQ(Run(maker, others).step_ns, 136);
  others = gaps;
  others.handoff_ns = {};
  EXPECT_EQ(Run(maker, others).step_ns, 134);
  others = gaps;
  others.step_start_ns = others.step_finish_ns = 0;
  EXPECT_EQ(Run(maker, others).step_ns, 38);
}

TEST_F(SimulatorTest, AHandoffCountsFromTheSlowestPath) {
  // J on A needs P on B (ends at 10, handoff 50: 60) and Q on A (ends at 30): starts at 60.
  ScheduleMaker maker;
  const QueueId a = maker.Queue(gpu(0)), b = maker.Queue(gpu(1));
  const CommandId p = maker.Launch(b, 10), q = maker.Launch(a, 30);
  maker.Launch(a, 5, {p, q});
  Delays gaps;
  gaps.handoff_ns[0][0] = 50;
  const SimulationResult result = Run(maker, gaps);
  EXPECT_EQ(result.times[CommandId(2)].start_ns, 60);
}

TEST_F(SimulatorTest, RecordAndWaitOrderQueuesAtNoCost) {
  // A: 10, record. B (in order): wait, 5. No gap around the two, one handoff.
  ScheduleMaker maker;
  const QueueId a = maker.Queue(gpu(0), QueueKind::kCompute, true),
                b = maker.Queue(gpu(1), QueueKind::kCompute, true);
  const CommandId first = maker.Launch(a, 10);
  const CommandId record = maker.Sync(CommandKind::kRecord, a, {first});
  const CommandId wait = maker.Sync(CommandKind::kWait, b, {record});
  maker.Launch(b, 5, {wait});
  Delays gaps;
  gaps.gap_ns[static_cast<size_t>(DeviceKind::kModelled)] = {100, 100};
  gaps.handoff_ns[0][0] = 1;
  EXPECT_EQ(Run(maker, gaps).step_ns, 16);
}

TEST_F(SimulatorTest, NeighboursOnTheHostSlowEachOtherDown) {
  // Two memory-bound launches of 100 and 40 with a pairwise factor 2: until 80 both run at half speed
  // (40 done), then the first has 60 left alone: 140.
  machine_.devices[gpu(0)].kind = DeviceKind::kVirtual;
  machine_.devices[gpu(1)].kind = DeviceKind::kVirtual;
  ScheduleMaker maker;
  const QueueId a = maker.Queue(gpu(0)), b = maker.Queue(gpu(1)), c = maker.Queue(gpu(2));
  maker.Launch(a, 100);
  maker.Launch(b, 40);
  maker.Launch(c, 90);  // on silicon of its own
  Interference interference;
  interference.host.slowdown[1][1] = 2;
  const SimulationResult result = Run(maker, {}, &interference);
  EXPECT_EQ(result.times[CommandId(1)].end_ns, 80);
  EXPECT_EQ(result.times[CommandId(0)].end_ns, 140);
  EXPECT_EQ(result.times[CommandId(2)].end_ns, 90);
  EXPECT_EQ(Run(maker).step_ns, 100);
}

TEST_F(SimulatorTest, TooManyWorkersSlowEveryoneInProportion) {
  // Three launches of 60 with one worker each on two cores: 60 * 3/2.
  for (int i = 0; i < 3; ++i) machine_.devices[gpu(i)].kind = DeviceKind::kVirtual;
  ScheduleMaker maker;
  for (int i = 0; i < 3; ++i) maker.Launch(maker.Queue(gpu(i)), 60);
  Interference interference;
  interference.host.cores = 2;
  EXPECT_EQ(Run(maker, {}, &interference).step_ns, 90);
}

TEST_F(SimulatorTest, ACopySlowsComputeAndIsSlowedOnlyWhileItMoves) {
  // Latency 20, then a copy of 100 bytes at 1/1.25 while compute runs beside it at 1/1.5.
  // Copy: 20 + 125 = 145. Compute of 100: 20 alone, 125/1.5 = 83.33 beside: done during the copy, so
  // compute ends at 20 + 80 * 1.5 = 140; the copy then has 100 - 120/1.25 = 4 bytes left at full rate: 144.
  machine_ = StarMachine(3, 1e9, 10, 0);
  for (int i = 0; i < 2; ++i) machine_.devices[gpu(i)].kind = DeviceKind::kVirtual;
  ScheduleMaker maker;
  maker.Launch(maker.Queue(gpu(0)), 100);
  maker.Copy(maker.Queue(gpu(1), QueueKind::kCopyIn), gpu(2), gpu(1), 100, 120);
  Interference interference;
  interference.host.slowdown[1][2] = 1.5;
  interference.host.slowdown[2][1] = 1.25;
  const SimulationResult result = Run(maker, {}, &interference);
  EXPECT_EQ(result.times[CommandId(0)].end_ns, 140);
  EXPECT_EQ(result.times[CommandId(1)].end_ns, 144);
}

TEST_F(SimulatorTest, AQueuePicksNothingBeforeItsDriverIsAwake) {
  // Woken by what is ready at 0 and awake at 50, the queue picks the smaller rank, which became ready at 30.
  // The other one's driver is woken at 60 only: a wake-up is a delay after readiness, wherever in the step.
  Delays gaps;
  gaps.wake_ns[static_cast<size_t>(DeviceKind::kModelled)][static_cast<size_t>(QueueClass::kCompute)] = 50;
  ScheduleMaker maker;
  const QueueId host = maker.Queue(machine_.host()), a = maker.Queue(gpu(0)), b = maker.Queue(gpu(1));
  const CommandId first = maker.Launch(host, 30, {}, 0);
  maker.Launch(a, 10, {}, 5);
  maker.Launch(a, 10, {first}, 2);
  const CommandId third = maker.Launch(host, 30, {first});
  maker.Launch(b, 10, {third});
  const SimulationResult result = Run(maker, gaps);
  EXPECT_EQ(result.times[CommandId(0)].start_ns, 0);
  EXPECT_EQ(result.times[CommandId(2)].start_ns, 50);
  EXPECT_EQ(result.times[CommandId(1)].start_ns, 60);
  EXPECT_EQ(result.times[CommandId(4)].start_ns, 60 + 50);
  EXPECT_EQ(Run(maker).times[CommandId(1)].start_ns, 0);
}

TEST_F(SimulatorTest, RefusesBadCostsAndCircles) {
  ScheduleMaker maker;
  maker.Launch(maker.Queue(gpu(0)), 10);
  const Schedule schedule = maker.Build();
  const auto code = [&](const CommandCosts& costs) {
    try {
      Simulate(schedule, machine_, costs, {});
    } catch (const Error& error) {
      return error.code();
    }
    return Code::kUnknown;
  };
  EXPECT_EQ(code({{}, {}}), Code::kInvalidArgument);
  EXPECT_EQ(code({{-1}, {}}), Code::kInvalidArgument);
  EXPECT_EQ(code({{INT64_MAX}, {}}), Code::kInvalidArgument);
  Schedule circle = schedule;
  circle.num_predecessors[CommandId(0)] = 1;
  EXPECT_THROW(Simulate(circle, machine_, {{10}, {}}, {}), Error);
}

TEST_F(SimulatorTest, RefusesEndlessTime) {
  ScheduleMaker maker;
  const QueueId a = maker.Queue(gpu(0));
  for (int i = 0; i < 4; ++i) maker.Launch(a, int64_t{1} << 50);
  EXPECT_THROW(Run(maker), Error);
}

TEST_F(SimulatorTest, TheSameInputGivesTheSameBits) {
  machine_ = StarMachine(8, 12.5e9, 1000, 25e9);
  ScheduleMaker maker = RandomStarSchedule(machine_, 3000, 200, 5);
  const SimulationResult first = Run(maker);
  Simulator simulator(schedule_, machine_, ModelOf());
  SimulationResult again;
  for (int i = 0; i < 2; ++i) {
    simulator.Run({maker.ns(), {}}, &again);
    ASSERT_EQ(again.step_ns, first.step_ns);
    for (const CommandId c : first.times.ids()) {
      ASSERT_EQ(again.times[c].start_ns, first.times[c].start_ns);
      ASSERT_EQ(again.times[c].end_ns, first.times[c].end_ns);
    }
  }
}

struct CollectingSink : EventSink {
  void Consume(std::span<const Event> batch) override {
    events.insert(events.end(), batch.begin(), batch.end());
  }
  void CountDropped(int64_t) override {}
  std::vector<Event> events;
};

TEST_F(SimulatorTest, PublishesStepsBackToBack) {
  ScheduleMaker maker;
  const QueueId a = maker.Queue(gpu(0));
  const CommandId first = maker.Launch(a, 10);
  const CommandId record = maker.Sync(CommandKind::kRecord, a, {first});
  maker.Copy(maker.Queue(gpu(1), QueueKind::kCopyIn), gpu(0), gpu(1), 20, 20, {record});
  const SimulationResult result = Run(maker);
  CollectingSink sink;
  PublishSteps(schedule_, result, 2, 1000, &sink);
  ASSERT_EQ(sink.events.size(), 6u);
  EXPECT_EQ(sink.events[4].command, CommandId(2));
  EXPECT_EQ(sink.events[4].step, 1);
  EXPECT_EQ(sink.events[4].start_ns, 1000 + 30 + 10);
  EXPECT_EQ(sink.events[4].end_ns, 1000 + 60);
  EXPECT_EQ(sink.events[4].bytes, 20);
  EXPECT_EQ(sink.events[5].kind, EventKind::kStep);
  EXPECT_EQ(sink.events[5].start_ns, 1030);
  EXPECT_EQ(sink.events[5].end_ns, 1060);
}

}  // namespace
}  // namespace lanescope::sims
