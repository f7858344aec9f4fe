// SPDX-License-Identifier: Apache-2.0
// Formats of tensors between tasks: which edges they are written on, and what crosses then.
#include "core/place/wire_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph_builder.h"
#include "core/machine/cluster_tasks.h"
#include "core/machine/tasks.h"
#include "core/place/placer.h"
#include "core/schedule/schedule.h"

namespace lanescope {
namespace {

using ::testing::ElementsAre;

const std::string kFirst = "/job:worker/task:0/device:GPU:0", kSecond = "/job:worker/task:1/device:GPU:0";
const std::string kThird = "/job:worker/task:1/device:GPU:1";

Machine WiredMachine() { return MachineOfTasks(VirtualMachine(2, 1), ParseClusterTasks("worker=a,b")); }

struct Wired {
  Graph graph;
  std::vector<int64_t> messages;  // bytes of those between tasks, in the order of the schedule
};

Wired Wire(const Graph& graph, const std::vector<std::string>& fetches, WireFormat format) {
  const Machine machine = WiredMachine();
  CompileRequest request;
  for (const std::string& fetch : fetches) request.fetches.push_back(graph.FindEndpoint(fetch));
  WiredGraph wired = WriteWireFormat(graph, InferGraph(graph, {}), {}, request.fetches,
                                     PlaceGraph(graph, machine, {}), machine, format);
  const Schedule schedule =
      Compile(wired.graph, InferGraph(wired.graph, {}), request, wired.placement, machine);
  VerifySchedule(wired.graph, schedule);
  const MachineTasks tasks = TasksOf(machine);
  Wired result{std::move(wired.graph), {}};
  for (const Command& command : schedule.commands) {
    if (command.kind == CommandKind::kCopy &&
        !tasks.SameTask(schedule.CopySource(command), schedule.CopyDestination(command)))
      result.messages.push_back(command.bytes);
  }
  return result;
}

std::string InputOf(const Graph& graph, const std::string& node, size_t input) {
  return graph.TensorName(graph.node(graph.FindNode(node)).inputs[input]);
}

// x of `elements` floats in the first task, whose square is read by both GPUs of the second.
GraphBuilder Crossing(int64_t elements) {
  GraphBuilder b;
  const Endpoint x = b.Op("PlaceholderWithDefault", "x")
                         .Input(b.Const("zeros", Tensor(DataType::kFloat, Shape{elements})))
                         .Attr("shape", Shape{elements})
                         .Device("/job:worker/task:0/device:CPU:0")
                         .Build();
  const Endpoint y = b.Op("Square", "y").Input(x).Device(kFirst).Build();
  b.Op("Neg", "a").Input(y).Device(kSecond).Build();
  b.Op("Abs", "b").Input(y).Device(kThird).Build();
  b.Op("Exp", "near").Input(y).Device(kFirst).Build();
  return b;
}

// One message of n elements: 4 n, 2 n, n + 4 bytes. The reader beside the producer takes the tensor as it is.
TEST(WireFormatTest, AMessageCarriesFewerBytes) {
  GraphBuilder b = Crossing(1024);
  const std::vector<std::string> steps = {"^a", "^b", "^near"};
  EXPECT_THAT(Wire(b.graph(), steps, WireFormat::kFloat32).messages, ElementsAre(4096));
  EXPECT_THAT(Wire(b.graph(), steps, WireFormat::kInt8).messages, ElementsAre(1028));
  const Wired wired = Wire(b.graph(), steps, WireFormat::kBfloat16);
  EXPECT_THAT(wired.messages, ElementsAre(2048));
  const Graph& graph = wired.graph;
  EXPECT_EQ(InputOf(graph, "a", 0), "y/from_bfloat16");
  EXPECT_EQ(InputOf(graph, "b", 0), "y/from_bfloat16_1");
  EXPECT_EQ(InputOf(graph, "near", 0), "y");
  EXPECT_EQ(InputOf(graph, "y/from_bfloat16_1", 0), "y/to_bfloat16");
  EXPECT_TRUE(graph.node(graph.FindNode("y/to_bfloat16")).BoolAttr("Truncate"));
}

TEST(WireFormatTest, SmallTensorsAndFetchesStay) {
  GraphBuilder small = Crossing(1023);
  EXPECT_THAT(Wire(small.graph(), {"^a"}, WireFormat::kBfloat16).messages, ElementsAre(4092));
  GraphBuilder b = Crossing(4096);
  // a crosses back to the first task's host as it is.
  EXPECT_THAT(Wire(b.graph(), {"a"}, WireFormat::kBfloat16).messages, ElementsAre(2 * 4096, 4 * 4096));
}

TEST(WireFormatTest, IntegersStay) {
  GraphBuilder b = Crossing(2048);
  const Endpoint counts = b.Op("Cast", "counts")
                              .Input(b.graph().FindEndpoint("y"))
                              .Attr("DstT", DataType::kInt64)
                              .Device(kFirst)
                              .Build();
  b.Op("Neg", "far").Input(counts).Device(kSecond).Build();
  EXPECT_THAT(Wire(b.graph(), {"^far"}, WireFormat::kBfloat16).messages, ElementsAre(8 * 2048));
}

// A variable on the first task, read on the second: converted in a step that only reads it, exact where it is
// initialized, and where the step writes it before it is read.
TEST(WireFormatTest, VariablesAreExactWhereTheyAreWritten) {
  GraphBuilder b;
  const Endpoint v = b.Op("VariableV2", "v")
                         .Attr("shape", Shape{2048})
                         .Attr("dtype", DataType::kFloat)
                         .Device(kFirst)
                         .Build();
  const Endpoint far = b.Op("Square", "far")
                           .Input(b.Op("Abs", "abs")
                                      .Input(b.Const("zeros", Tensor(DataType::kFloat, Shape{2048}), kSecond))
                                      .Device(kSecond)
                                      .Build())
                           .Device(kSecond)
                           .Build();
  const Endpoint assign = b.Op("Assign", "assign").Input(v).Input(far).Device(kFirst).Build();
  b.Op("Neg", "read").Input(v).Device(kSecond).Build();
  b.Op("Neg", "read_after").Input(v).ControlInput(assign).Device(kSecond).Build();
  EXPECT_THAT(Wire(b.graph(), {"^read"}, WireFormat::kBfloat16).messages, ElementsAre(4096));
  const Wired after = Wire(b.graph(), {"^read_after"}, WireFormat::kBfloat16);
  EXPECT_EQ(InputOf(after.graph, "read_after", 0), "v");
  EXPECT_EQ(InputOf(after.graph, "assign", 1), "far/from_bfloat16")
      << "what a step assigns is a tensor of the step";
  // Another step's fetches leave the initializer alone.
  EXPECT_EQ(InputOf(Wire(b.graph(), {"^read"}, WireFormat::kBfloat16).graph, "assign", 1), "far");
}

}  // namespace
}  // namespace lanescope
