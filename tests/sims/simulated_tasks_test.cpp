// SPDX-License-Identifier: Apache-2.0
// Machines of several tasks, whose hosts send each other messages.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "sims/engine/interference.h"
#include "sims/engine/simulator.h"
#include "sims/predict/replay.h"
#include "tests/sims/effects_of.h"
#include "tests/sims/schedule_maker.h"

namespace lanescope::sims {
namespace {

// Devices 0 and 1: the hosts of two tasks, with a link of 1 byte per ns.
Machine TwoTasks() {
  return ParseMachine(R"({"devices": [{"name": "/job:w/task:0/CPU:0", "kind": "host", "workers": 1},
    {"name": "/job:w/task:1/CPU:0", "kind": "host", "workers": 1}],
    "links": [{"between": ["/job:w/task:0/CPU:0", "/job:w/task:1/CPU:0"], "bandwidth": "1GB/s"}]})");
}

// Laws: a launch hands over to a message, and a message to a launch, as these classes do; what waits for a
// command of another task without a copy, of one that ended there or of a message's other end, waits for a
// signal.
TEST(SimulatedTasks, TasksHandOverByMessagesAndSignals) {
  const Machine machine = TwoTasks();
  Delays gaps;
  gaps.handoff_ns[0] = {1, 1, 30};
  gaps.handoff_ns[2] = {50, 1, 1};
  gaps.signal_ns = 700;
  ScheduleMaker maker;
  const QueueId here = maker.Queue(DeviceId(0)), there = maker.Queue(DeviceId(1));
  const QueueId network = maker.Queue(DeviceId(0), QueueKind::kCopyOut);
  const CommandId first = maker.Launch(here, 10);
  const CommandId message = maker.Copy(network, DeviceId(0), DeviceId(1), 100, 100, {first});
  maker.Launch(there, 10, {message});
  maker.Launch(here, 10, {message});
  const CommandId told = maker.Launch(there, 10, {first});
  const CommandId back = maker.Launch(here, 10, {told});
  const Schedule schedule = maker.Build();
  const SimulationResult result = Simulate(schedule, machine, {maker.ns(), {}}, ModelOf(gaps));
  const auto start = [&](CommandId command) { return result.times[command].start_ns; };
  EXPECT_EQ(start(message), 10 + 30);
  EXPECT_EQ(start(CommandId(2)), 140 + 50);
  EXPECT_EQ(start(CommandId(3)), 140 + 50);
  EXPECT_EQ(start(told), 10 + 700);
  EXPECT_EQ(start(back), 720 + 700);
  const SimulationResult at_once = Simulate(schedule, machine, {maker.ns(), {}}, ModelOf());
  EXPECT_EQ(at_once.times[back].start_ns, 20);
}

// Law: of a network queue, which several drivers share, all messages are under way at once.
TEST(SimulatedTasks, AnyNumberOfMessagesIsUnderWayAtOnce) {
  const Machine machine = TwoTasks();
  ScheduleMaker maker;
  const QueueId network = maker.Queue(DeviceId(0), QueueKind::kCopyOut);
  for (int i = 0; i < 6; ++i) maker.Copy(network, DeviceId(0), DeviceId(1), 100, 100);
  Schedule schedule = maker.Build();
  schedule.queues[network].workers = 4;
  const SimulationResult result = Simulate(schedule, machine, {maker.ns(), {}}, ModelOf());
  for (const CommandTime& time : result.times) {
    EXPECT_EQ(time.start_ns, 0);
    EXPECT_EQ(time.end_ns, 600);
  }
}

// Two tasks of one worker each, on `cores` cores.
SimulationResult WithProgressThreads(ScheduleMaker* maker, const Machine& machine, Delays gaps, int cores) {
  Interference interference;
  interference.host.cores = cores;
  gaps.message_overhead_ns = 100;
  Schedule schedule = maker->Build();
  for (Queue& queue : schedule.queues) {
    if (queue.kind != QueueKind::kCompute) queue.workers = 4;
  }
  return Simulate(schedule, machine, {maker->ns(), {}}, ModelOf(gaps, &interference));
}

// Laws: alone, a message takes its time, whatever its progress threads take of it; several wait for each
// other at the progress threads that they share, and so in the order in which they were ready; of the two
// directions none waits for the other's wire, but for its progress threads.
TEST(SimulatedTasks, ProgressThreadsTakeOneMessageAtATime) {
  const Machine machine = TwoTasks();
  ScheduleMaker maker;
  const QueueId out = maker.Queue(DeviceId(0), QueueKind::kCopyOut);
  const CommandId first = maker.Copy(out, DeviceId(0), DeviceId(1), 0, 1000);
  const CommandId second = maker.Copy(out, DeviceId(0), DeviceId(1), 0, 1000);
  const CommandId third = maker.Copy(out, DeviceId(0), DeviceId(1), 0, 150, {second});
  const SimulationResult result = WithProgressThreads(&maker, machine, {}, 0);
  EXPECT_EQ(result.times[first].end_ns, 1000);
  EXPECT_EQ(result.times[second].start_ns, 0);
  EXPECT_EQ(result.times[second].end_ns, 1100);
  EXPECT_EQ(result.times[third].end_ns, 1250) << "half of its time each, not 100";
  ScheduleMaker crossing;
  const CommandId there =
      crossing.Copy(crossing.Queue(DeviceId(0), QueueKind::kCopyOut), DeviceId(0), DeviceId(1), 0, 200);
  const CommandId back =
      crossing.Copy(crossing.Queue(DeviceId(1), QueueKind::kCopyOut), DeviceId(1), DeviceId(0), 0, 200);
  const SimulationResult crossed = WithProgressThreads(&crossing, machine, {}, 0);
  EXPECT_EQ(crossed.times[there].end_ns, 200);
  EXPECT_EQ(crossed.times[back].end_ns, 200);
}

// Law: what a step's messages have waited for their progress threads is in their measured times, and replayed
// once.
TEST(SimulatedTasks, ReplayedMessagesHaveWaitedAlready) {
  const Machine machine = TwoTasks();
  ScheduleMaker maker;
  const QueueId out = maker.Queue(DeviceId(0), QueueKind::kCopyOut);
  for (int i = 0; i < 2; ++i) maker.Copy(out, DeviceId(0), DeviceId(1), 0, 1000);
  Schedule schedule = maker.Build();
  schedule.queues[out].workers = 4;
  Delays gaps;
  gaps.message_overhead_ns = 100;
  MeasuredStep step;
  step.end_ns = 1100;
  for (const int64_t end_ns : {1000, 1100}) {
    step.command_start_ns.Add(0);
    step.command_end_ns.Add(end_ns);
  }
  const ReplayReport report = ReplaySteps(schedule, machine, std::span(&step, 1), EffectsOf(gaps));
  EXPECT_EQ(report.replayed_ns, std::vector<int64_t>{1100});
}

// Law: where it is received each byte keeps the progress thread busy too.
TEST(SimulatedTasks, BytesKeepTheReceiverBusy) {
  const Machine machine = TwoTasks();
  ScheduleMaker maker;
  const QueueId out = maker.Queue(DeviceId(0), QueueKind::kCopyOut);
  for (int i = 0; i < 2; ++i) maker.Copy(out, DeviceId(0), DeviceId(1), 200, 2000);
  Delays gaps;
  gaps.message_byte_ns = 2;
  const SimulationResult result = WithProgressThreads(&maker, machine, gaps, 0);
  // Each moves 200 bytes in 1400 ns, its own limit; the second 100 later, and waits for 500 of the first's.
  EXPECT_EQ(result.times[CommandId(0)].end_ns, 2000);
  EXPECT_EQ(result.times[CommandId(1)].end_ns, 2500);
}

// Law: progress threads share the cores with launches: on one core both take twice as long, on two half as
// long again, for a progress thread wakes on any of them.
TEST(SimulatedTasks, ProgressThreadsShareCores) {
  const Machine machine = TwoTasks();
  for (const int cores : {1, 2}) {
    ScheduleMaker maker;
    const CommandId launch = maker.Launch(maker.Queue(DeviceId(0)), 1000);
    const CommandId message =
        maker.Copy(maker.Queue(DeviceId(1), QueueKind::kCopyOut), DeviceId(1), DeviceId(0), 0, 600);
    const SimulationResult result = WithProgressThreads(&maker, machine, {}, cores);
    const int64_t longer = 100 / cores;
    EXPECT_EQ(result.times[message].end_ns, 600 + 2 * longer) << cores;
    // While the progress threads worked for 2 * (100 + longer) it did 200.
    EXPECT_EQ(result.times[launch].end_ns, 1000 + 2 * longer) << cores;
  }
}

// Law: a driver that is woken takes a core meanwhile: the launch beside it does 50 in the 100 that it takes.
// One that is awake takes none beside its launch.
TEST(SimulatedTasks, WakingADriverTakesACore) {
  const Machine machine = TwoTasks();
  Delays gaps;
  gaps.handoff_ns[0][0] = 100;
  for (const bool sleeps : {true, false}) {
    ScheduleMaker maker;
    const QueueId here = maker.Queue(DeviceId(0)), there = maker.Queue(DeviceId(1));
    const CommandId first = maker.Launch(here, 1000);
    const CommandId beside = maker.Launch(here, 1000, {first});
    if (!sleeps) maker.Launch(there, 5000);
    maker.Launch(there, 0, {first});
    Interference interference;
    interference.host.cores = sleeps ? 1 : 2;
    const SimulationResult result =
        Simulate(maker.Build(), machine, {maker.ns(), {}}, ModelOf(gaps, &interference));
    EXPECT_EQ(result.times[beside].end_ns - result.times[beside].start_ns, sleeps ? 1050 : 1000);
  }
}

}  // namespace
}  // namespace lanescope::sims
