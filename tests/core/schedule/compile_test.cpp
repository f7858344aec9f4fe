// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/graph_builder.h"
#include "core/schedule/schedule.h"
#include "tests/core/schedule/compiled.h"
#include "tests/support/random_graph.h"

namespace lanescope {
namespace {

using test::CompileChecked;
using test::Count;
using test::Everywhere;
using test::Floats;
using test::Gpu;
using test::LaunchOf;
using test::MakeRandomGraph;
using test::Precedes;
using test::RandomPlacement;
using test::RequestFor;
using test::TwoGpus;

// Law: one copy per (tensor, destination device), whatever the number of users there.
TEST(Compile, CopiesATensorOncePerDestination) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{8});
  const Endpoint a = builder.Op("Neg", "a").Input(x).Build();
  const Endpoint b = builder.Op("Neg", "b").Input(a).Build();
  const Endpoint c = builder.Op("Square", "c").Input(a).Build();
  const Endpoint d = builder.Op("AddV2", "d").Input(b).Input(c).Build();
  const Graph& graph = builder.graph();
  CompileRequest request = RequestFor(graph, {"d"}, {});
  request.feeds.push_back({x, Floats(Shape{8})});
  Placement placement = Everywhere(graph, Gpu(0));
  placement.device[b.node] = placement.device[c.node] = placement.device[d.node] = Gpu(1);
  const Schedule schedule = CompileChecked(graph, request, placement, TwoGpus());
  EXPECT_EQ(Count(schedule, CommandKind::kLaunch), 4);
  // x to GPU:0, a to GPU:1 once, d to the host.
  EXPECT_EQ(Count(schedule, CommandKind::kCopy), 3);
}

// Law: only what the fetches need runs; a fed tensor's producer does not.
TEST(Compile, PrunesToFetchesAndCutsAtFeeds) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{8});
  const Endpoint a = builder.Op("Neg", "a").Input(x).Build();
  builder.Op("Square", "b").Input(a).Build();
  builder.Op("Exp", "unused").Input(a).Build();
  const Graph& graph = builder.graph();
  CompileRequest request = RequestFor(graph, {"b"}, {});
  request.feeds.push_back({a, Floats(Shape{8})});
  const Schedule schedule = CompileChecked(graph, request, Everywhere(graph, TwoGpus().host()), TwoGpus());
  ASSERT_EQ(schedule.commands.size(), 1u);
  EXPECT_EQ(graph.node(schedule.commands[CommandId(0)].node).name, "b");
}

// Law: what nobody reads does not run because something is ordered after it (all gradients of an op are
// grouped before any of them is used); it runs where the step asks for it or for a group of it, and where it
// is stateful. Who waited for it waits for its inputs.
TEST(Compile, WhatIsOnlyWaitedForDoesNotRun) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{8});
  const Endpoint size = builder.Const("size", Tensor::FromValues<int32_t>(Shape{1}, {8}));
  const Endpoint noise =
      builder.Op("RandomUniform", "noise").Input(size).Attr("dtype", DataType::kFloat).Build();
  const Endpoint unread = builder.Op("Neg", "unread").Input(noise).Build();
  const Endpoint used = builder.Op("Exp", "used").Input(x).Build();
  const NodeId group =
      builder.Op("NoOp", "group").ControlInput(unread.node).ControlInput(used.node).Build().node;
  builder.Op("Square", "y").Input(used).ControlInput(group).Build();
  const Graph& graph = builder.graph();
  const auto compile = [&](const std::vector<std::string>& targets) {
    CompileRequest request = RequestFor(graph, {"y"}, targets);
    request.feeds.push_back({x, Floats(Shape{8})});
    return CompileChecked(graph, request, Everywhere(graph, TwoGpus().host()), TwoGpus());
  };
  const Schedule step = compile({});
  EXPECT_FALSE(LaunchOf(graph, step, "unread").exists());
  EXPECT_TRUE(Precedes(step, LaunchOf(graph, step, "noise"), LaunchOf(graph, step, "y")));
  EXPECT_EQ(step.commands.size(), 3u);
  for (const char* asked : {"unread", "group"}) {
    EXPECT_TRUE(LaunchOf(graph, compile({asked}), "unread").exists()) << asked;
  }
}

TEST(Compile, AnUnfedPlaceholderIsNamed) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{8});
  builder.Op("Neg", "a").Input(x).Build();
  const Graph& graph = builder.graph();
  try {
    CompileChecked(graph, RequestFor(graph, {"a"}, {}), Everywhere(graph, DeviceId(0)), TwoGpus());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(error.message().find("You must feed a value for placeholder tensor 'x'"), std::string::npos);
  }
}

// Law: readers of a variable's old value come before its update; readers that depend on the update come after
// it.
TEST(Compile, OrdersReadersBeforeTheUpdate) {
  GraphBuilder builder;
  const Endpoint v =
      builder.Op("VariableV2", "v").Attr("dtype", DataType::kFloat).Attr("shape", Shape{8}).Build();
  const Endpoint read = builder.Op("Identity", "read").Input(v).Build();
  const Endpoint one = builder.Const("one", Tensor::FromValues<float>(Shape{8}, std::vector<float>(8, 1.0f)));
  const Endpoint updated = builder.Op("AssignAdd", "update").Input(v).Input(one).Build();
  builder.Op("Neg", "old").Input(read).Build();
  builder.Op("Neg", "new").Input(updated).Build();
  const Graph& graph = builder.graph();
  const Schedule schedule = CompileChecked(graph, RequestFor(graph, {"old", "new"}, {"update"}),
                                           Everywhere(graph, Gpu(0)), TwoGpus());
  const CommandId update = LaunchOf(graph, schedule, "update");
  EXPECT_TRUE(Precedes(schedule, LaunchOf(graph, schedule, "old"), update));
  EXPECT_TRUE(Precedes(schedule, update, LaunchOf(graph, schedule, "new")));
}

// Law: a resource variable's read keeps its value: where a user must wait for an update that the read
// precedes, it reads a copy.
TEST(Compile, SnapshotsAReadThatOutlivesAnUpdate) {
  GraphBuilder builder;
  const Endpoint v =
      builder.Op("VarHandleOp", "v").Attr("dtype", DataType::kFloat).Attr("shape", Shape{8}).Build();
  const Endpoint read = builder.Op("ReadVariableOp", "read").Input(v).Attr("dtype", DataType::kFloat).Build();
  const Endpoint one = builder.Const("one", Tensor::FromValues<float>(Shape{8}, std::vector<float>(8, 1.0f)));
  const Endpoint updated =
      builder.Op("AssignAddVariableOp", "update").Input(v).Input(one).Attr("dtype", DataType::kFloat).Build();
  builder.Op("Neg", "late").Input(read).ControlInput(updated.node).Build();
  const Graph& graph = builder.graph();
  const Schedule schedule =
      CompileChecked(graph, RequestFor(graph, {"late"}, {}), Everywhere(graph, Gpu(0)), TwoGpus());
  int snapshots = 0;
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    if (command.kind != CommandKind::kCopy ||
        schedule.CopySource(command) != schedule.CopyDestination(command))
      continue;
    ++snapshots;
    EXPECT_TRUE(Precedes(schedule, c, LaunchOf(graph, schedule, "update")));
  }
  EXPECT_EQ(snapshots, 1);
}

// Law: k reads between k updates of one variable are ordered by 3k - 2 edges: each use follows the update
// before it, and each update the use and the update before it.
TEST(Compile, OrdersReadsAndUpdatesByAFewEdges) {
  constexpr int kRounds = 40;
  GraphBuilder builder;
  const Endpoint v =
      builder.Op("VarHandleOp", "v").Attr("dtype", DataType::kFloat).Attr("shape", Shape{8}).Build();
  const Endpoint one = builder.Const("one", Tensor::FromValues<float>(Shape{8}, std::vector<float>(8, 1.0f)));
  std::vector<std::string> targets;
  NodeId updated;
  for (int i = 0; i < kRounds; ++i) {
    const std::string number = std::to_string(i);
    auto read = builder.Op("ReadVariableOp", "read" + number).Input(v).Attr("dtype", DataType::kFloat);
    if (updated.exists()) read.ControlInput(updated);
    const Endpoint value = read.Build();
    builder.Op("Neg", "use" + number).Input(value).Build();
    auto update = builder.Op("AssignAddVariableOp", "update" + number).Input(v).Input(one);
    updated = update.Attr("dtype", DataType::kFloat).ControlInput(value.node).Build().node;
    for (const char* op : {"use", "update"}) targets.push_back(op + number);
  }
  const Graph& graph = builder.graph();
  const Schedule schedule =
      CompileChecked(graph, RequestFor(graph, {}, targets), Everywhere(graph, Gpu(0)), TwoGpus());
  EXPECT_EQ(schedule.commands.size(), 2u * kRounds);
  EXPECT_EQ(schedule.successors.items.size(), 3u * kRounds - 2);
  for (int i = 0; i < kRounds; ++i) {
    const std::string number = std::to_string(i), next = std::to_string(i + 1);
    const CommandId update = LaunchOf(graph, schedule, "update" + number);
    EXPECT_TRUE(Precedes(schedule, LaunchOf(graph, schedule, "use" + number), update));
    if (i + 1 == kRounds) break;
    EXPECT_TRUE(Precedes(schedule, update, LaunchOf(graph, schedule, "use" + next)));
    EXPECT_TRUE(Precedes(schedule, update, LaunchOf(graph, schedule, "update" + next)));
  }
}

// Law: a chain of element-wise ops needs one buffer.
TEST(Compile, ElementwiseChainRunsInPlace) {
  GraphBuilder builder;
  Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{1024});
  CompileRequest request;
  request.feeds.push_back({x, Floats(Shape{1024})});
  for (int i = 0; i < 10; ++i) x = builder.Op("Neg", "n" + std::to_string(i)).Input(x).Build();
  const Graph& graph = builder.graph();
  request.fetches.push_back(x);
  const Schedule schedule = CompileChecked(graph, request, Everywhere(graph, Gpu(0)), TwoGpus());
  EXPECT_EQ(schedule.arena_bytes[Gpu(0)], 4096);
}

TEST(Compile, OutOfMemoryNamesOpTensorDeviceAndHolders) {
  Machine machine = VirtualMachine(1, 1);
  const DeviceId gpu = machine.Gpus()[0];
  machine.devices[gpu].memory_bytes = 10000;
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{1024});
  const Endpoint a = builder.Op("Neg", "a").Input(x).Build();
  const Endpoint b = builder.Op("Exp", "b").Input(a).Build();
  const Endpoint c = builder.Op("AddV2", "c").Input(a).Input(b).Build();
  builder.Op("AddN", "d").Inputs(std::vector<Endpoint>{a, b, c}).Build();
  const Graph& graph = builder.graph();
  CompileRequest request = RequestFor(graph, {"d"}, {});
  request.feeds.push_back({x, Floats(Shape{1024})});
  try {
    CompileChecked(graph, request, Everywhere(graph, gpu), machine);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kResourceExhausted);
    for (const char* part : {"GPU:0", "op 'c' (AddV2)", "tensor 'c'", "4 KiB", "largest holders"}) {
      EXPECT_NE(error.message().find(part), std::string::npos) << part << " in: " << error.message();
    }
  }
}

// Law: what has a higher priority is handed out first among ready commands.
TEST(Compile, PrioritiesOrderReadyCommands) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{8});
  builder.Op("Neg", "first").Input(x).Build();
  builder.Op("Neg", "urgent").Input(x).Build();
  const Graph& graph = builder.graph();
  CompileRequest request = RequestFor(graph, {"first", "urgent"}, {});
  request.feeds.push_back({x, Floats(Shape{8})});
  Placement placement = Everywhere(graph, Gpu(0));
  placement.priority.assign(graph.num_nodes(), 0);
  placement.priority[graph.FindNode("urgent")] = 5;
  const Schedule schedule = CompileChecked(graph, request, placement, TwoGpus());
  EXPECT_LT(schedule.commands[LaunchOf(graph, schedule, "urgent")].rank,
            schedule.commands[LaunchOf(graph, schedule, "first")].rank);
}

// Law: the verifier finds nothing wrong with any compiled random graph, on ready-first and on in-order
// queues.
TEST(Compile, RandomGraphsVerify) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Machine machine = VirtualMachine(1 + static_cast<int>(seed % 3), 1);
    if (seed % 2 == 1) {
      for (DeviceSpec& device : machine.devices) device.in_order = device.is_gpu();
    }
    if (seed % 5 == 0) {
      for (DeviceSpec& device : machine.devices) device.copy_engines = 1;
    }
    const auto random = MakeRandomGraph(seed, 40 + static_cast<int>(seed) * 3, 4);
    const Placement placement = RandomPlacement(random.graph, machine, seed);
    SCOPED_TRACE(seed);
    const Schedule schedule = CompileChecked(
        random.graph, RequestFor(random.graph, random.fetches, random.targets), placement, machine);
    EXPECT_GT(schedule.commands.size(), 10u);
    if (seed % 2 == 1 && seed % 3 != 0) {
      EXPECT_EQ(Count(schedule, CommandKind::kWait) > 0, Count(schedule, CommandKind::kRecord) > 0);
    }
  }
}

// Law: what is reached through a reference that an update returns reads the new value, whatever passes the
// reference on, be the op known or not.
TEST(Compile, ReadersThroughAnUpdatesReferenceComeAfterIt) {
  for (const char* op : {"RefIdentity", "UnknownReader"}) {
    SCOPED_TRACE(op);
    GraphBuilder builder;
    const Endpoint v =
        builder.Op("VariableV2", "v").Attr("dtype", DataType::kFloat).Attr("shape", Shape{4}).Build();
    const Endpoint one = builder.Const("one", Tensor::FromValues<float>(Shape{4}, {1, 2, 3, 4}));
    const Endpoint assigned = builder.Op("Assign", "assign").Input(v).Input(one).Build();
    const Endpoint passed = builder.Op(op, "passed")
                                .Input(assigned)
                                .Attr("T", DataType::kFloat)
                                .Attr("_output_shapes", std::vector<ShapeAttr>{{Shape{4}, ""}})
                                .Build();
    builder.Op("Neg", "read").Input(passed).Build();
    const Graph& graph = builder.graph();
    const Schedule schedule = CompileChecked(graph, RequestFor(graph, {"read"}, {}),
                                             Everywhere(graph, TwoGpus().host()), TwoGpus());
    EXPECT_TRUE(Precedes(schedule, LaunchOf(graph, schedule, "assign"), LaunchOf(graph, schedule, "read")));
  }
}

// The verifier itself: each law broken by hand is found.
TEST(Verifier, FindsBrokenSchedules) {
  const Machine machine = VirtualMachine(2, 1);
  const auto random = MakeRandomGraph(7, 60, 3);
  const Placement placement = RandomPlacement(random.graph, machine, 7);
  const Schedule good = CompileChecked(random.graph, RequestFor(random.graph, random.fetches, random.targets),
                                       placement, machine);
  {
    Schedule bad = good;  // a dependency less
    --*std::max_element(bad.num_predecessors.begin(), bad.num_predecessors.end());
    EXPECT_THROW(VerifySchedule(random.graph, bad), Error);
  }
  {
    Schedule bad = good;  // all memory at the same place
    for (Buffer& buffer : bad.buffers) buffer.offset = 0;
    EXPECT_THROW(VerifySchedule(random.graph, bad), Error);
  }
  {
    Schedule bad = good;  // no dependencies at all
    std::fill(bad.successors.first.begin(), bad.successors.first.end(), 0);
    bad.successors.items.clear();
    std::fill(bad.num_predecessors.begin(), bad.num_predecessors.end(), 0);
    EXPECT_THROW(VerifySchedule(random.graph, bad), Error);
  }
  {
    Schedule bad = good;  // the wrong operand
    for (const Command& command : good.commands) {
      if (command.kind != CommandKind::kLaunch || command.num_inputs < 2) continue;
      std::swap(bad.operands[static_cast<size_t>(command.inputs)],
                bad.operands[static_cast<size_t>(command.inputs) + 1]);
      if (bad.operands[static_cast<size_t>(command.inputs)] !=
          bad.operands[static_cast<size_t>(command.inputs) + 1])
        break;
    }
    EXPECT_THROW(VerifySchedule(random.graph, bad), Error);
  }
}

}  // namespace
}  // namespace lanescope
