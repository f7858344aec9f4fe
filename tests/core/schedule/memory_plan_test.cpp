// SPDX-License-Identifier: Apache-2.0
// Laws of the memory plan, by a checker of its own that reads the dump of a schedule.
#include <gtest/gtest.h>

#include <utility>

#include "core/base/error.h"
#include "core/graph/graph_builder.h"
#include "core/schedule/schedule_json.h"
#include "tests/core/schedule/dumped_schedule.h"
#include "tests/support/random_tensors.h"
#include "tests/support/sanitized.h"

namespace lanescope {
namespace {

using test::FaultOfDumpedSchedule;
using test::RandomTensors;

struct PlannedGraph {
  RandomTensors tensors;
  Machine machine;
  Schedule schedule;
};

PlannedGraph PlanRandomTensors(unsigned seed) {
  PlannedGraph planned{RandomTensors(seed, 10 + static_cast<int>(seed % 50)),
                       VirtualMachine(1 + static_cast<int>(seed % 3), 1 + static_cast<int>(seed % 2)),
                       {}};
  for (DeviceSpec& device : planned.machine.devices) {
    if (seed % 4 == 1) device.in_order = device.is_gpu();
    if (seed % 5 == 2) device.copy_engines = 1;
  }
  const Graph& graph = planned.tensors.graph();
  const CompileRequest request = planned.tensors.Request();
  planned.schedule = Compile(graph, InferGraph(graph, request.feeds), request,
                             planned.tensors.Place(planned.machine, seed), planned.machine);
  return planned;
}

std::string FaultOf(const PlannedGraph& planned) {
  return FaultOfDumpedSchedule(ScheduleToJson(planned.tensors.graph(), planned.machine, planned.schedule));
}

bool VerifierAccepts(const PlannedGraph& planned) {
  try {
    VerifySchedule(planned.tensors.graph(), planned.schedule);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Law: every operand lies in its memory, commands that touch the same bytes, one of them writing, have an
// order, and what a command reads is what was written last.
TEST(MemoryPlan, HoldsForRandomGraphs) {
  for (unsigned seed = 0; seed < 4000; seed += test::kOneCaseOf) {
    const PlannedGraph planned = PlanRandomTensors(seed);
    ASSERT_EQ(FaultOf(planned), "") << seed;
    ASSERT_NO_THROW(VerifySchedule(planned.tensors.graph(), planned.schedule)) << seed;
  }
}

// Law: a tensor without elements takes no memory.
TEST(MemoryPlan, EmptyTensorsTakeNoMemory) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{64});
  const Endpoint sizes = builder.Const("sizes", Tensor::FromValues<int32_t>(Shape{3}, {64, 0, 0}));
  const Endpoint axis = builder.Const("axis", Tensor::Scalar<int32_t>(0));
  Endpoint value = x;
  for (int i = 0; i < 5; ++i) {
    const std::string name = "split" + std::to_string(i);
    value = builder.Op("SplitV", name).Input(value).Input(sizes).Input(axis).Attr("num_split", 3).Build();
  }
  const Graph& graph = builder.graph();
  CompileRequest request = test::RequestFor(graph, {"split4"}, {});
  TensorInfo info;
  info.dtype = DataType::kFloat;
  info.shape = Shape{64};
  request.feeds.emplace_back(x, info);
  const Machine machine = VirtualMachine(1, 1);
  Placement placement;
  placement.device.assign(graph.num_nodes(), machine.Gpus()[0]);
  const Schedule schedule = Compile(graph, InferGraph(graph, request.feeds), request, placement, machine);
  VerifySchedule(graph, schedule);
  // x on the GPU and the chain of first outputs, of which two live at a time.
  EXPECT_EQ(schedule.arena_bytes[machine.Gpus()[0]], 2 * 256);
}

// Law: commands of a queue that is alone and has one worker run by rank, so that memory is used again beside
// any number of branches that nothing waits for; with a second worker it is not known when those end.
TEST(MemoryPlan, OneWorkerUsesMemoryAgain) {
  constexpr int kRounds = 100;
  constexpr int64_t kBytes = 4 * 64 * 64;
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{64, 64});
  CompileRequest request;
  TensorInfo info;
  info.dtype = DataType::kFloat;
  info.shape = Shape{64, 64};
  request.feeds.emplace_back(x, info);
  Endpoint value = x;
  for (int i = 0; i < kRounds; ++i) {
    const std::string number = std::to_string(i);
    value = builder.Op("MatMul", "product" + number).Input(value).Input(value).Build();
    builder.Op("MatMul", "branch" + number).Input(value).Input(value).Build();
  }
  const Graph& graph = builder.graph();
  for (int i = 0; i < kRounds; ++i)
    request.fetches.push_back({graph.FindNode("branch" + std::to_string(i)), -1});
  Machine machine = VirtualMachine(0, 1);
  Placement placement;
  placement.device.assign(graph.num_nodes(), DeviceId(0));
  const auto arena = [&] {
    const Schedule schedule = Compile(graph, InferGraph(graph, request.feeds), request, placement, machine);
    VerifySchedule(graph, schedule);
    EXPECT_EQ(FaultOfDumpedSchedule(ScheduleToJson(graph, machine, schedule)), "");
    return schedule.arena_bytes[DeviceId(0)];
  };
  EXPECT_LE(arena(), 4 * kBytes);
  machine.devices[DeviceId(0)].workers = 2;
  EXPECT_GT(arena(), kRounds / 2 * kBytes);
}

// Both checks find a plan that gives memory away while it is in use: each buffer in turn is moved onto
// another one of its arena, and where the one check objects, the other does.
TEST(MemoryPlan, BothChecksFindAnOverlap) {
  int found = 0, harmless = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    PlannedGraph planned = PlanRandomTensors(seed);
    const auto buffers = planned.schedule.buffers;
    for (size_t b = 0; b < buffers.size(); ++b) {
      const size_t other = (b * 7 + seed) % buffers.size();
      if (buffers[b].strings || buffers[b].bytes == 0 || buffers[other].device != buffers[b].device ||
          buffers[other].bytes < buffers[b].bytes || buffers[other].offset == buffers[b].offset)
        continue;
      planned.schedule.buffers[b].offset = buffers[other].offset;
      const bool sound = FaultOf(planned).empty();
      EXPECT_EQ(VerifierAccepts(planned), sound)
          << seed << ", buffer " << b << " onto " << other << ": " << FaultOf(planned);
      ++(sound ? harmless : found);
      planned.schedule.buffers[b] = buffers[b];
    }
  }
  EXPECT_GT(found, 100);
  EXPECT_GT(harmless, 0);
}

// Both checks find a dependency that is missing.
TEST(MemoryPlan, BothChecksFindAMissingOrder) {
  int found = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    PlannedGraph planned = PlanRandomTensors(seed);
    Schedule& schedule = planned.schedule;
    if (schedule.successors.items.empty()) continue;
    // The last edge of the list goes.
    const CommandId next = schedule.successors.items.back();
    schedule.successors.items.pop_back();
    --schedule.num_predecessors[next];
    for (int& first : schedule.successors.first)
      first = std::min(first, static_cast<int>(schedule.successors.items.size()));
    if (FaultOf(planned).empty()) continue;
    ++found;
    EXPECT_FALSE(VerifierAccepts(planned)) << seed << ": " << FaultOf(planned);
  }
  EXPECT_GT(found, 20);
}

}  // namespace
}  // namespace lanescope
