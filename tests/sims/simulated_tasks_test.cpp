// Machines of several tasks, whose hosts send each other messages.
#include <gtest/gtest.h>

#include "sims/simulator.h"
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
  GapModel gaps;
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
  const SimulationResult result = Simulate(schedule, machine, {maker.ns(), {}}, gaps);
  const auto start = [&](CommandId command) { return result.times[command].start_ns; };
  EXPECT_EQ(start(message), 10 + 30);
  EXPECT_EQ(start(CommandId(2)), 140 + 50);
  EXPECT_EQ(start(CommandId(3)), 140 + 50);
  EXPECT_EQ(start(told), 10 + 700);
  EXPECT_EQ(start(back), 720 + 700);
  const SimulationResult at_once =
      Simulate(schedule, machine, {maker.ns(), {}}, gaps, nullptr, {.handoffs = false});
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
  const SimulationResult result = Simulate(schedule, machine, {maker.ns(), {}}, {});
  for (const CommandTime& time : result.times) {
    EXPECT_EQ(time.start_ns, 0);
    EXPECT_EQ(time.end_ns, 600);
  }
}

}  // namespace
}  // namespace lanescope::sims
