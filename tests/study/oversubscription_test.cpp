// SPDX-License-Identifier: Apache-2.0
#include "study/measure/oversubscription.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/graph/graph_builder.h"
#include "tests/exec/tasks/tasks_harness.h"
#include "tests/support/random_graph.h"

namespace lanescope::study {
namespace {

// A step of two tasks, each of which runs one launch on its GPU; the first one's host has both results.
struct StepOfTwoTasks {
  StepOfTwoTasks() : machine(exec::test::MachineOfTasks(2, 1)) {
    GraphBuilder builder;
    const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{8});
    const Endpoint a = builder.Op("Neg", "a").Input(x).Build();
    const Endpoint b = builder.Op("Neg", "b").Input(x).Build();
    graph = builder.Take();
    CompileRequest request = test::RequestFor(graph, {"a", "b"}, {});
    TensorInfo fed;
    fed.dtype = DataType::kFloat;
    fed.shape = Shape{8};
    request.feeds.emplace_back(x, fed);
    Placement placement;
    placement.device.assign(graph.num_nodes(), machine.Gpus()[0]);
    placement.device[b.node] = machine.Gpus()[1];
    schedule = Compile(graph, InferGraph(graph, request.feeds), request, placement, machine);
    for (const CommandId c : schedule.commands.ids()) {
      if (schedule.commands[c].kind == CommandKind::kLaunch)
        (schedule.commands[c].node == a.node ? first : second) = c;
    }
  }

  // A step of 100 ns, of which each command takes what is given.
  std::vector<Event> Step(const std::vector<std::pair<CommandId, std::pair<int64_t, int64_t>>>& ran) const {
    std::vector<Event> events(1);
    events[0].end_ns = 100;
    events[0].kind = EventKind::kStep;
    for (const auto& [command, when] : ran)
      events.push_back({.start_ns = when.first, .end_ns = when.second, .command = command});
    return events;
  }

  Machine machine;
  Graph graph;
  Schedule schedule;
  CommandId first, second;
};

// Law: each computer is judged by what its own tasks ask for. Two launches of one core each, at the same
// time: more than one computer of one core has, but not more than two of them have, nor one of two.
TEST(Oversubscription, IsOfEachComputerByItself) {
  const StepOfTwoTasks step;
  const std::vector<Event> events = step.Step({{step.first, {0, 90}}, {step.second, {0, 90}}});
  const auto judged = [&](const Computers& computers) {
    return IsOversubscribed(step.schedule, step.machine, computers, events, 0.1);
  };
  EXPECT_TRUE(judged({{}, {1}}));
  EXPECT_TRUE(judged({{0, 0}, {1}}));
  EXPECT_FALSE(judged({{0, 0}, {2}}));
  EXPECT_FALSE(judged({{0, 1}, {1, 1}}));
}

// Input: each task's launch asks for two cores. Law: the first computer's cores are not the second's.
TEST(Oversubscription, CoresAreThoseOfTheTasksComputer) {
  StepOfTwoTasks step;
  for (const CommandId c : {step.first, step.second}) step.schedule.commands[c].workers = 2;
  const std::vector<Event> events = step.Step({{step.first, {0, 50}}, {step.second, {50, 100}}});
  const auto judged = [&](int cores_of_first, int cores_of_second) {
    return IsOversubscribed(step.schedule, step.machine, {{0, 1}, {cores_of_first, cores_of_second}}, events,
                            0.1);
  };
  EXPECT_FALSE(judged(2, 2));
  EXPECT_TRUE(judged(4, 1));
  EXPECT_TRUE(judged(1, 4));
}

// Input: beside a launch of one core a copy from the other task, which keeps two busy. Law: it keeps them
// busy on both computers.
TEST(Oversubscription, ACopyBetweenComputersIsBothTheirs) {
  const StepOfTwoTasks step;
  const MachineTasks tasks = TasksOf(step.machine);
  CommandId copy;
  for (const CommandId c : step.schedule.commands.ids()) {
    const Command& command = step.schedule.commands[c];
    if (command.kind == CommandKind::kCopy && tasks.task_of[step.schedule.CopySource(command)] == 1 &&
        tasks.task_of[step.schedule.CopyDestination(command)] == 0)
      copy = c;
  }
  ASSERT_TRUE(copy.exists());
  const std::vector<Event> events = step.Step({{step.first, {0, 90}}, {copy, {0, 90}}});
  const auto judged = [&](int cores_of_first, int cores_of_second) {
    return IsOversubscribed(step.schedule, step.machine, {{0, 1}, {cores_of_first, cores_of_second}}, events,
                            2.0);
  };
  EXPECT_FALSE(judged(3, 2));
  EXPECT_TRUE(judged(2, 2));
  EXPECT_TRUE(judged(3, 1));
}

}  // namespace
}  // namespace lanescope::study
