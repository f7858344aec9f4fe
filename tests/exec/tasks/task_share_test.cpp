// SPDX-License-Identifier: Apache-2.0
// The shares of a schedule: together they are the whole, and each touches its own task's memory alone.
#include "core/schedule/task_share.h"

#include <set>

#include "tests/exec/tasks/tasks_harness.h"
#include "tests/support/random_graph.h"

namespace lanescope::exec::test {
namespace {

Schedule CompileRandom(const lanescope::test::RandomGraph& random, const Machine& machine, unsigned seed) {
  const CompileRequest request = lanescope::test::RequestFor(random.graph, random.fetches, random.targets);
  return Compile(random.graph, InferGraph(random.graph, {}), request,
                 lanescope::test::RandomPlacement(random.graph, machine, seed), machine);
}

// Laws: a schedule over tasks obeys the verifier; tensors cross between hosts alone; every launch and every
// copy inside a task is in one share, every copy between two in both, once as a send and once as a receive
// of the same number; no other share has memory for a task's values.
TEST(TaskShare, SharesAreTheWhole) {
  const Machine machine = MachineOfTasks(3, 2);
  const MachineTasks tasks = TasksOf(machine);
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto random = lanescope::test::MakeRandomGraph(seed, 50, 3);
    const Schedule whole = CompileRandom(random, machine, seed);
    VerifySchedule(random.graph, whole);
    std::multiset<CommandId> inside;
    std::multiset<std::pair<int, bool>> ends;  // (message, is_send)
    int num_messages = 0;
    for (int task = 0; task < tasks.size(); ++task) {
      const TaskShare share = ShareOfTask(whole, tasks, task);
      num_messages = share.num_messages;
      for (const CommandId c : share.schedule.commands.ids()) {
        const Command& command = share.schedule.commands[c];
        const MessageEnd& end = share.ends[c];
        if (end.peer < 0) inside.insert(share.whole[c]);
        if (end.peer >= 0) ends.emplace(end.message, end.is_send);
        if (end.peer >= 0 && command.kind == CommandKind::kCopy) {
          EXPECT_EQ(machine.device(share.schedule.CopySource(command)).parsed.type, "CPU");
          EXPECT_EQ(machine.device(share.schedule.CopyDestination(command)).parsed.type, "CPU");
        }
        if (end.peer >= 0) continue;
        for (const ValueId value : share.schedule.Inputs(command)) {
          if (!value.exists()) continue;
          EXPECT_EQ(tasks.task_of[share.schedule.values[value].device], task);
        }
      }
      for (const DeviceId d : machine.devices.ids()) {
        if (tasks.task_of[d] == task) continue;
        EXPECT_EQ(share.schedule.arena_bytes[d], 0);
      }
      EXPECT_EQ(share.schedule.fetches.empty(), task != 0);
    }
    for (int message = 0; message < num_messages; ++message) {
      EXPECT_EQ(ends.count({message, true}), 1u);
      EXPECT_EQ(ends.count({message, false}), 1u);
    }
    for (const CommandId c : whole.commands.ids()) {
      const Command& command = whole.commands[c];
      const bool between = command.kind == CommandKind::kCopy &&
                           !tasks.SameTask(whole.CopySource(command), whole.CopyDestination(command));
      EXPECT_EQ(inside.count(c), between ? 0u : 1u);
    }
  }
}

// Two devices of a task read a tensor of another one: it crosses once, and each copies it from its host.
TEST(TaskShare, ATensorCrossesOnce) {
  GraphBuilder builder;
  const Endpoint x = builder.Const("x", Floats(Shape{4}, 1));
  const Endpoint made = builder.Op("Neg", "made").Input(x).Build();
  builder.Op("Neg", "a").Input(made).Build();
  builder.Op("Neg", "b").Input(made).Build();
  const Machine machine = MachineOfTasks(2, 2);
  const std::vector<DeviceId> gpus = machine.Gpus();
  Placement placement = PlaceAll(builder.graph(), gpus[0]);
  PlaceOn(&placement, builder.graph(), "a", gpus[2]);
  PlaceOn(&placement, builder.graph(), "b", gpus[3]);
  const CompileRequest request = lanescope::test::RequestFor(builder.graph(), {}, {"a", "b"});
  const Schedule whole =
      Compile(builder.graph(), InferGraph(builder.graph(), {}), request, placement, machine);
  VerifySchedule(builder.graph(), whole);
  std::multiset<std::string> copies;
  for (const Command& command : whole.commands) {
    if (command.kind != CommandKind::kCopy) continue;
    copies.insert(machine.device(whole.CopySource(command)).local_name() + " -> " +
                  machine.device(whole.CopyDestination(command)).local_name());
  }
  EXPECT_EQ(copies, (std::multiset<std::string>{"/job:worker/task:0/GPU:0 -> /job:worker/task:0/CPU:0",
                                                "/job:worker/task:0/CPU:0 -> /job:worker/task:1/CPU:0",
                                                "/job:worker/task:1/CPU:0 -> /job:worker/task:1/GPU:0",
                                                "/job:worker/task:1/CPU:0 -> /job:worker/task:1/GPU:1"}));
  const TaskShare share = ShareOfTask(whole, TasksOf(machine), 0);
  EXPECT_EQ(share.num_messages, 1);
}

}  // namespace
}  // namespace lanescope::exec::test
