// SPDX-License-Identifier: Apache-2.0
// Loops of TensorFlow 1 as While nodes. What they compute: tests/golden/ops/old_loops.json.gz.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph_io.h"
#include "core/graph/op.h"
#include "core/graph/output_types.h"
#include "tests/core/base/expect_error.h"

namespace lanescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string LoopNode(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                     const std::string& more = "") {
  std::string text = "node { name: '" + name + "' op: '" + op + "' ";
  for (const std::string& input : inputs) text += "input: '" + input + "' ";
  return text + "attr { key: 'T' value { type: DT_INT32 } } " + more + "}\n";
}

std::string FrameAttr(const std::string& name) {
  return "attr { key: 'frame_name' value { s: '" + name + "' } } ";
}

std::string IntConstant(const std::string& name, int value) {
  return "node { name: '" + name + "' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } " +
         "attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: " +
         std::to_string(value) + " } } } }\n";
}

// i = begin; while i < limit: i = i + i. `last` is where i ends.
std::string Doubling(const std::string& name, const std::string& begin, const std::string& last) {
  const std::string frame = FrameAttr(name + "/while_context");
  return LoopNode(name + "/Enter", "Enter", {begin}, frame) +
         LoopNode(name + "/limit", "Enter", {"limit"},
                  frame + "attr { key: 'is_constant' value { b: true } } ") +
         LoopNode(name + "/Merge", "Merge", {name + "/Enter", name + "/Next"},
                  "attr { key: 'N' value { i: 2 } } ") +
         LoopNode(name + "/Less", "Less", {name + "/Merge", name + "/limit"}) +
         LoopNode(name + "/LoopCond", "LoopCond", {name + "/Less"}) +
         LoopNode(name + "/Switch", "Switch", {name + "/Merge", name + "/LoopCond"}) +
         LoopNode(name + "/twice", "AddV2", {name + "/Switch:1", name + "/Switch:1"}) +
         LoopNode(name + "/Next", "NextIteration", {name + "/twice"}) +
         LoopNode(last, "Exit", {name + "/Switch"});
}

const std::string kNumbers = IntConstant("one", 1) + IntConstant("limit", 10);

TEST(RaisedLoops, AreWhileNodesOfVariablesAndConstants) {
  const Graph graph = ParseGraphText(kNumbers + Doubling("loop", "one", "last"));
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.push_back(node.name + " " + node.op);
  EXPECT_THAT(names, ElementsAre("one Const", "limit Const", "loop While", "last Identity"));
  const Node& loop = graph.node(graph.FindNode("loop"));
  EXPECT_EQ(loop.inputs, (std::vector<Endpoint>{graph.FindEndpoint("one"), graph.FindEndpoint("limit")}));
  EXPECT_EQ(OutputTypes(loop), (std::vector<DataType>{DataType::kInt32, DataType::kInt32}));
  EXPECT_EQ(graph.node(graph.FindNode("last")).inputs, std::vector<Endpoint>{graph.FindEndpoint("loop")});
  EXPECT_THAT(LibraryFunctions(graph), ElementsAre("loop_cond", "loop_body"));
}

// A raised loop is written as it is, and read again.
TEST(RaisedLoops, RoundTrip) {
  const Graph graph = ParseGraphText(kNumbers + Doubling("loop", "one", "last"));
  EXPECT_EQ(GraphToText(ParseGraphText(GraphToText(graph))), GraphToText(graph));
}

TEST(RaisedLoops, OneBehindTheOther) {
  const Graph graph = ParseGraphText(kNumbers + Doubling("a", "one", "end") + Doubling("b", "end", "last"));
  EXPECT_EQ(graph.node(graph.FindNode("b")).inputs[0], graph.FindEndpoint("end"));
  EXPECT_EQ(graph.node(graph.FindNode("end")).inputs[0], graph.FindEndpoint("a"));
}

std::string Refusal(const std::string& text) {
  return ErrorOf([&] { ParseGraphText(text); });
}

std::string Without(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(RaisedLoops, OthersAreRefusedByName) {
  const std::string loop = kNumbers + Doubling("loop", "one", "last");
  EXPECT_THAT(Refusal(Without(loop, "op: 'Enter'", "op: 'RefEnter'")),
              HasSubstr("Unimplemented: node 'loop/Enter' (RefEnter): a loop over a reference variable"));
  EXPECT_THAT(Refusal(Without(loop, "op: 'LoopCond'", "op: 'Identity'")), HasSubstr("without a condition"));
  EXPECT_THAT(
      Refusal(loop + LoopNode("more", "Identity", {"loop/LoopCond"})),
      HasSubstr("node 'more' (Identity): a loop whose condition is used for more than its variables"));
  EXPECT_THAT(Refusal(loop + LoopNode("more", "Identity", {"loop/Switch"})),
              HasSubstr("node 'more' (Identity): a loop whose last value is used inside it"));
  EXPECT_THAT(Refusal(Without(loop, "input: 'loop/limit' ", "input: 'limit' ")),
              HasSubstr("node 'limit' (Const): a loop that takes a tensor from outside without an Enter"));
  EXPECT_THAT(Refusal(Without(loop, "input: 'loop/twice' ", "input: 'nobody' ")),
              HasSubstr("'nobody' is taken in a loop, but is not there"));
}

}  // namespace
}  // namespace lanescope
