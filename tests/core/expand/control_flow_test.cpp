// SPDX-License-Identifier: Apache-2.0
// Loops and branches as nodes without them. What they compute: tests/golden/ops/control_flow.json.gz.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/expand/functions.h"
#include "core/graph/graph_io.h"
#include "tests/core/base/expect_error.h"

namespace lanescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kTotal = R"(input_arg { name: "s" type: DT_FLOAT })";
constexpr const char* kCounter = R"(input_arg { name: "v" type: DT_RESOURCE })";

// i < 3, beside another argument.
std::string LessFunction(const std::string& name, const std::string& argument) {
  return R"(
  function { signature { name: ")" +
         name + R"(" input_arg { name: "i" type: DT_INT32 } )" + argument + R"(
                         output_arg { name: "r" type: DT_BOOL } }
    node_def { name: "three" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 3 } } } }
    node_def { name: "less" op: "Less" input: "i" input: "three:output:0" attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "r" value: "less:z:0" } })";
}

// i + 1, and what the body makes of another argument.
std::string NextFunction(const std::string& name, const std::string& arguments, const std::string& body) {
  return R"(
  function { signature { name: ")" +
         name + R"(" input_arg { name: "i" type: DT_INT32 } output_arg { name: "j" type: DT_INT32 } )" +
         arguments + R"( }
    node_def { name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }
    node_def { name: "next" op: "AddV2" input: "i" input: "one:output:0" attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "j" value: "next:z:0" } )" +
         body + " }";
}

// less(i, s) = i < 3, below(i, s) = s < 3, add(i, s) = (i + 1, s + s), and with an update of v.
std::string Functions() {
  return "library {" + LessFunction("less", kTotal) + R"(
  function { signature { name: "below" input_arg { name: "i" type: DT_INT32 } input_arg { name: "s" type: DT_FLOAT }
                         output_arg { name: "r" type: DT_BOOL } }
    node_def { name: "three" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
               attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 3 } } } }
    node_def { name: "less" op: "Less" input: "s" input: "three:output:0" attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "r" value: "less:z:0" } })" +
         NextFunction("add", std::string(kTotal) + R"( output_arg { name: "t" type: DT_FLOAT })", R"(
    node_def { name: "sum" op: "AddV2" input: "s" input: "s" device: "/device:GPU:1"
               attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "t" value: "sum:z:0" })") +
         LessFunction("count", kCounter) +
         NextFunction("change", std::string(kCounter) + R"( output_arg { name: "w" type: DT_RESOURCE })", R"(
    node_def { name: "assign" op: "AssignAddVariableOp" input: "v" input: "i" attr { key: "dtype" value { type: DT_INT32 } } }
    ret { key: "w" value: "v" } control_ret { key: "assign" value: "assign" })") +
         "\n}\n";
}

std::string Loop(const std::string& condition, const std::string& body, const std::string& variable) {
  return R"(node { name: "loop" op: "While" input: "i" input: ")" + variable +
         R"(" device: "/device:GPU:0" attr { key: "cond" value { func { name: ")" + condition +
         R"(" } } } attr { key: "body" value { func { name: ")" + body + R"(" } } }
             attr { key: "T" value { list { type: DT_INT32 type: )" +
         (variable == "v" ? "DT_RESOURCE" : "DT_FLOAT") + R"( } } } }
node { name: "count" op: "Identity" input: "loop" attr { key: "T" value { type: DT_INT32 } } }
)";
}

constexpr const char* kZero = R"(
node { name: "i" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
node { name: "s" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }
node { name: "data" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "shape" value { shape { } } } }
node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "shape" value { shape { } } } }
)";

Graph Expanded(const std::string& nodes, const InlineOptions& options = {}) {
  return InlineFunctions(ParseGraphText(kZero + nodes + Functions()), options);
}

const Node& ExpandedNode(const Graph& graph, const std::string& name) {
  return graph.node(graph.FindEndpoint(name).node);
}

std::vector<std::string> InputNames(const Graph& graph, const std::string& name) {
  std::vector<std::string> inputs;
  for (const Endpoint& input : ExpandedNode(graph, name).inputs) inputs.push_back(graph.TensorName(input));
  return inputs;
}

std::vector<std::string> ControlNames(const Graph& graph, const std::string& name) {
  std::vector<std::string> controls;
  for (const NodeId input : ExpandedNode(graph, name).control_inputs)
    controls.push_back(graph.node(input).name);
  return controls;
}

TEST(Loops, TripsFollowEachOther) {
  const Graph graph = Expanded(Loop("less", "add", "s"));
  EXPECT_THAT(InputNames(graph, "loop/0/sum"), ElementsAre("s", "s"));
  EXPECT_THAT(InputNames(graph, "loop/2/sum"), ElementsAre("loop/1/sum", "loop/1/sum"));
  EXPECT_FALSE(graph.FindNode("loop/3/sum").exists());
  EXPECT_THAT(InputNames(graph, "loop"), ElementsAre("loop/2/next", "loop/2/sum"));
  EXPECT_THAT(InputNames(graph, "count"), ElementsAre("loop/2/next"));
  EXPECT_EQ(ExpandedNode(graph, "loop/0/sum").device, "/device:GPU:1");
  EXPECT_EQ(ExpandedNode(graph, "loop/0/next").device, "/device:GPU:0");
}

TEST(Loops, EffectsOfTripsWaitForEachOther) {
  const Graph graph = Expanded(Loop("count", "change", "v"));
  EXPECT_THAT(ControlNames(graph, "loop/1/assign"), ElementsAre("loop/0/assign"));
  EXPECT_THAT(ControlNames(graph, "loop/2/assign"), ElementsAre("loop/1/assign"));
  EXPECT_THAT(ControlNames(graph, "loop"), ElementsAre("loop/2/assign"));
}

TEST(Loops, WhereDataSayHowOftenTheBoundIsGiven) {
  EXPECT_THAT(ErrorOf([] { Expanded(Loop("below", "add", "s")); }),
              HasSubstr("Unimplemented: node 'loop' (While): data say how often it runs"));
  const Graph graph = Expanded(Loop("below", "add", "s"), {.trips = {{"loop", 2}}});
  EXPECT_FALSE(graph.FindNode("loop/2/sum").exists());
  EXPECT_THAT(InputNames(graph, "loop/1/output_1"),
              ElementsAre("loop/1/cond/less", "loop/1/sum", "loop/0/sum"));
  EXPECT_THAT(InputNames(graph, "loop/0/output_1"), ElementsAre("loop/0/cond/less", "loop/1/output_1", "s"));
  EXPECT_THAT(InputNames(graph, "loop"), ElementsAre("loop/output_0", "loop/output_1"));
  EXPECT_THAT(InputNames(graph, "loop/output_1"), ElementsAre("loop/0/output_1"));
  EXPECT_THAT(InputNames(graph, "loop/ended"), ElementsAre("loop/2/cond/less"));
  EXPECT_THAT(ControlNames(graph, "loop"), ElementsAre("loop/require_end"));
  EXPECT_THAT(ControlNames(graph, "loop/output_1"), ElementsAre("loop/require_end"));
}

// Law: a simulated loop runs as often as is said, and nothing is chosen.
TEST(Loops, TripsThatAreExactAreAllTaken) {
  std::vector<std::string> counted;
  Expanded(Loop("below", "add", "s"), {.trips = {{"loop", 3}}, .counted = &counted});
  EXPECT_THAT(counted, ElementsAre("loop"));
  const Graph graph = Expanded(Loop("below", "add", "s"), {.trips = {{"loop", 2}}, .exact_trips = true});
  EXPECT_TRUE(graph.FindNode("loop/2/cond/less").exists());
  EXPECT_FALSE(graph.FindNode("loop/2/sum").exists());
  EXPECT_FALSE(graph.FindNode("loop/ended").exists());
  EXPECT_THAT(InputNames(graph, "loop"), ElementsAre("loop/1/next", "loop/1/sum"));
  // Updates of variables, too, which data could not be asked for.
  std::string nodes = Loop("count", "change", "v");
  nodes.replace(nodes.find("\"i\""), 3, "\"data\"");
  const Graph changes = Expanded(nodes, {.trips = {{"loop", 2}}, .exact_trips = true});
  EXPECT_TRUE(changes.FindNode("loop/1/assign").exists());
}

TEST(Loops, OneThatNoStepNeedsStays) {
  const Graph graph = Expanded(Loop("below", "add", "s"), {.needed = {"s:0"}});
  EXPECT_EQ(ExpandedNode(graph, "loop").op, "While");
  EXPECT_EQ(ExpandedNode(graph, "count").op, "Identity");
}

// In a trip that is not taken nothing is added.
TEST(Loops, EffectsThatDataDecideAreMasked) {
  std::string nodes = Loop("count", "change", "v");
  nodes.replace(nodes.find("\"i\""), 3, "\"data\"");
  const Graph graph = Expanded(nodes, {.trips = {{"loop", 2}}});
  EXPECT_THAT(InputNames(graph, "loop/0/assign"), ElementsAre("v", "loop/0/assign/value"));
  EXPECT_THAT(InputNames(graph, "loop/0/assign/value"),
              ElementsAre("loop/0/cond/less", "data", "loop/0/assign/nothing"));
  EXPECT_EQ(ExpandedNode(graph, "loop/0/assign/nothing").op, "ZerosLike");
}

TEST(Loops, OtherEffectsThatDataDecideAreRefused) {
  std::string nodes = Loop("count", "change", "v"), functions = Functions();
  nodes.replace(nodes.find("\"i\""), 3, "\"data\"");
  const std::string plain = R"("assign" op: "AssignAddVariableOp" input: "v" input: "i")";
  functions.replace(functions.find(plain), plain.size(),
                    R"("assign" op: "ResourceApplyGradientDescent" input: "v" input: "i" input: "i")");
  const std::string type = R"(attr { key: "dtype" value { type: DT_INT32 } } }
    ret { key: "w")";
  functions.replace(functions.find(type), type.size(), R"(attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "w")");
  EXPECT_THAT(ErrorOf([&] {
                InlineFunctions(ParseGraphText(kZero + nodes + functions), {.trips = {{"loop", 2}}});
              }),
              HasSubstr("node 'loop/0/assign' (ResourceApplyGradientDescent) changes a variable in a loop or "
                        "branch whose condition depends on data; only what adds to one"));
}

TEST(Loops, WhatDoesNotFitIsSaid) {
  EXPECT_THAT(ErrorOf([] { Expanded(Loop("gone", "add", "s")); }),
              HasSubstr("calls function 'gone', which is not in the graph's library"));
  EXPECT_THAT(ErrorOf([] { Expanded(Loop("less", "less", "s")); }),
              HasSubstr("node 'loop' has 2 variables, and its body gives 1"));
  EXPECT_THAT(ErrorOf([] { Expanded(Loop("add", "add", "s")); }),
              HasSubstr("node 'loop' has a condition with 2 outputs"));
  EXPECT_THAT(ErrorOf([] { Expanded(Loop("less", "add", "v")); }),
              HasSubstr("has a resource where it says float"));
}

TEST(Loops, OneThatNeverEndsIsRefused) {
  EXPECT_THAT(ErrorOf([] {
                std::string functions = Loop("less", "same", "s");
                InlineFunctions(ParseGraphText(kZero + functions + R"(library {
  function { signature { name: "less" input_arg { name: "i" type: DT_INT32 } input_arg { name: "s" type: DT_FLOAT }
                         output_arg { name: "r" type: DT_BOOL } }
    node_def { name: "yes" op: "Const" attr { key: "dtype" value { type: DT_BOOL } }
               attr { key: "value" value { tensor { dtype: DT_BOOL tensor_shape { } bool_val: true } } } }
    ret { key: "r" value: "yes:output:0" } }
  function { signature { name: "same" input_arg { name: "i" type: DT_INT32 } input_arg { name: "s" type: DT_FLOAT }
                         output_arg { name: "j" type: DT_INT32 } output_arg { name: "t" type: DT_FLOAT } }
    ret { key: "j" value: "i" } ret { key: "t" value: "s" } } })"));
              }),
              HasSubstr("once its loops are unrolled"));
}

TEST(Branches, SwitchAndMergeBecomeASelect) {
  const Graph graph = InlineFunctions(ParseGraphText(R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }
node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } attr { key: "shape" value { shape { } } } }
node { name: "switch" op: "Switch" input: "x" input: "p" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "yes" op: "Neg" input: "switch:1" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "merge" op: "Merge" input: "switch" input: "yes" attr { key: "T" value { type: DT_FLOAT } }
       attr { key: "N" value { i: 2 } } }
node { name: "out" op: "Identity" input: "merge" attr { key: "T" value { type: DT_FLOAT } } })"));
  EXPECT_EQ(ExpandedNode(graph, "merge").op, "Select");
  EXPECT_THAT(InputNames(graph, "merge"), ElementsAre("p", "yes", "x"));
  EXPECT_THAT(InputNames(graph, "out"), ElementsAre("merge"));
}

}  // namespace
}  // namespace lanescope
