// SPDX-License-Identifier: Apache-2.0
// How devices with streams take commands: what may be recorded, and what needs the host.
#include "core/schedule/stream_issue.h"

#include <gtest/gtest.h>

#include <map>

#include "core/graph/graph_builder.h"
#include "core/place/placer.h"

namespace lanescope {
namespace {

Machine OneGpu() {
  Machine machine = VirtualMachine(1, 1);
  const DeviceId gpu = machine.Gpus()[0];
  machine.devices[gpu].kind = DeviceKind::kCuda;
  machine.devices[gpu].in_order = true;
  return machine;
}

// By the name of their node, of the launches and copies of a step.
std::map<std::string, StreamIssue> IssuesOf(const Graph& graph, const std::vector<std::string>& targets,
                                            const Machine& machine) {
  CompileRequest request;
  for (const std::string& name : targets) request.fetches.push_back({graph.FindNode(name), -1});
  const GraphInfo info = InferGraph(graph, {});
  const Schedule schedule = Compile(graph, info, request, PlaceGraph(graph, machine, {}), machine);
  std::map<std::string, StreamIssue> issues;
  for (const CommandId c : schedule.issue.ids()) {
    const Command& command = schedule.commands[c];
    if (command.kind == CommandKind::kLaunch) issues[graph.node(command.node).name] = schedule.issue[c];
  }
  return issues;
}

// Laws: a product of known shapes is recorded; what is as long as its input has different values is not.
TEST(StreamIssue, IsByWhatALaunchNeeds) {
  GraphBuilder builder;
  const char* const gpu = "/device:GPU:0";
  const Endpoint v = builder.Op("VariableV2", "v")
                         .Attr("dtype", DataType::kFloat)
                         .Attr("shape", Shape{8, 8})
                         .Device(gpu)
                         .Build();
  builder.Op("MatMul", "product").Input(v).Input(v).Device(gpu).Build();
  const Endpoint flat = builder.Op("VariableV2", "flat")
                            .Attr("dtype", DataType::kFloat)
                            .Attr("shape", Shape{8})
                            .Device(gpu)
                            .Build();
  const Endpoint unique = builder.Op("Unique", "unique").Input(flat).Device(gpu).Build();
  builder.Op("Sqrt", "roots").Input(unique).Device(gpu).Build();
  const Graph graph = builder.Take();
  const auto issues = IssuesOf(graph, {"product", "roots"}, OneGpu());
  EXPECT_EQ(issues.at("product"), StreamIssue::kRecordable);
  EXPECT_EQ(issues.at("unique"), StreamIssue::kSingle);
  EXPECT_EQ(issues.at("roots"), StreamIssue::kSingle);
}

TEST(StreamIssue, IsEmptyWithoutStreams) {
  GraphBuilder builder;
  const Endpoint v =
      builder.Op("VariableV2", "v").Attr("dtype", DataType::kFloat).Attr("shape", Shape{8}).Build();
  builder.Op("Sqrt", "root").Input(v).Build();
  EXPECT_TRUE(IssuesOf(builder.Take(), {"root"}, VirtualMachine(1, 1)).empty());
}

// Laws: the same of a command of which a trace tells op and signature alone.
TEST(StreamIssue, OfARecordedCommandIsByItsSignature) {
  const auto of = [](const char* op, const char* signature) {
    return StreamIssueOf(CommandKind::kLaunch, op, signature);
  };
  EXPECT_EQ(of("MatMul", "MatMul(float[8,8];float[8,8])->float[8,8]"), StreamIssue::kRecordable);
  EXPECT_EQ(of("Unique", "Unique(int64[8])->int64[<=8];int32[8]"), StreamIssue::kSingle);
  EXPECT_EQ(of("Mul", "Mul(float[<=8,50];float[])->float[<=8,50]"), StreamIssue::kSingle);
  EXPECT_EQ(of("Shape", "Shape(int64[<=8])->int32[1]"), StreamIssue::kSettled);
  EXPECT_EQ(of("NoOp", "NoOp()->"), StreamIssue::kNothing);
  EXPECT_EQ(StreamIssueOf(CommandKind::kCopy, "Mul", "Copy(float[<=8,50])"), StreamIssue::kSingle);
  EXPECT_EQ(StreamIssueOf(CommandKind::kCopy, "Mul", "Copy(float[8,50])"), StreamIssue::kRecordable);
  EXPECT_EQ(StreamIssueOf(CommandKind::kWait, "Mul", ""), StreamIssue::kRecordable);
}

}  // namespace
}  // namespace lanescope
