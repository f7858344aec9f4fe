// SPDX-License-Identifier: Apache-2.0
#include "core/expand/functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph_io.h"
#include "tests/core/base/expect_error.h"

namespace lanescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// f(a, b) = (a * b, b), and nothing else happens.
constexpr const char* kProductFunction = R"(
function {
  signature { name: "f" input_arg { name: "a" type: DT_FLOAT } input_arg { name: "b" type: DT_FLOAT }
              output_arg { name: "p" type: DT_FLOAT } output_arg { name: "q" type: DT_FLOAT } }
  node_def { name: "mul" op: "Mul" input: "a" input: "b" attr { key: "T" value { type: DT_FLOAT } } }
  node_def { name: "twice" op: "Add" input: "mul:z:0" input: "mul:z:0" device: "/device:GPU:*"
             attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "p" value: "twice:z:0" } ret { key: "q" value: "b" } }
)";

std::string Library(const std::string& functions) { return "library {" + functions + "}"; }
const std::string kProduct = Library(kProductFunction);

constexpr const char* kInputs = R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
)";

std::string CallOf(const std::string& function, const std::string& more = "") {
  return R"(node { name: "call" op: "PartitionedCall" input: "x" input: "y" )" + more +
         R"( device: "/job:w/device:CPU:0"
             attr { key: "Tin" value { list { type: DT_FLOAT type: DT_FLOAT } } }
             attr { key: "Tout" value { list { type: DT_FLOAT type: DT_FLOAT } } }
             attr { key: "f" value { func { name: ")" +
         function + R"(" } } } }
node { name: "first" op: "Identity" input: "call" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "second" op: "Identity" input: "call:1" attr { key: "T" value { type: DT_FLOAT } } })";
}

Graph Inlined(const std::string& text) { return InlineFunctions(ParseGraphText(text)); }

const Node& NodeCalled(const Graph& graph, const std::string& name) {
  const NodeId id = graph.FindNode(name);
  if (!id.exists()) Throw(Code::kNotFound, "{}", name);
  return graph.node(id);
}

std::vector<std::string> InputsOf(const Graph& graph, const std::string& name) {
  const Node& node = NodeCalled(graph, name);
  std::vector<std::string> inputs;
  for (const Endpoint& input : node.inputs) inputs.push_back(graph.TensorName(input));
  for (const NodeId control : node.control_inputs) inputs.push_back("^" + graph.node(control).name);
  return inputs;
}

TEST(InlineFunctions, UsersTakeWhatTheFunctionsNodesMake) {
  const Graph graph = Inlined(kInputs + CallOf("f") + kProduct);
  EXPECT_THAT(InputsOf(graph, "call/mul"), ElementsAre("x", "y"));
  EXPECT_THAT(InputsOf(graph, "call/twice"), ElementsAre("call/mul", "call/mul"));
  EXPECT_THAT(InputsOf(graph, "first"), ElementsAre("call/twice"));
  EXPECT_THAT(InputsOf(graph, "second"), ElementsAre("y"));
  EXPECT_EQ(NodeCalled(graph, "call").op, "IdentityN");
  EXPECT_THAT(InputsOf(graph, "call"), ElementsAre("call/twice", "y"));
}

TEST(InlineFunctions, NodesAreOnTheCallsDeviceWhereTheyAskForNone) {
  const Graph graph = Inlined(kInputs + CallOf("f") + kProduct);
  EXPECT_EQ(NodeCalled(graph, "call/mul").device, "/job:w/device:CPU:0");
  EXPECT_EQ(NodeCalled(graph, "call/twice").device, "/job:w/device:GPU:0");
}

TEST(InlineFunctions, WhatTheCallWaitsForItsFirstNodesWaitFor) {
  const Graph graph =
      Inlined(kInputs + CallOf("f", R"(input: "^wait")") + R"(node { name: "wait" op: "NoOp" })" + kProduct);
  EXPECT_THAT(InputsOf(graph, "call/mul"), ElementsAre("x", "y", "^wait"));
  EXPECT_THAT(InputsOf(graph, "call/twice"), ElementsAre("call/mul", "call/mul"));
  EXPECT_THAT(InputsOf(graph, "call"), ElementsAre("call/twice", "y", "^wait"));
}

TEST(InlineFunctions, AGraphWithoutCallsStaysAsItIs) {
  const Graph graph = ParseGraphText(std::string(kInputs) + kProduct);
  EXPECT_EQ(GraphToText(InlineFunctions(graph)), GraphToText(graph));
}

// g calls f, and is called by its own name.
TEST(InlineFunctions, CallsInFunctionsToo) {
  const std::string caller = R"(
function {
  signature { name: "g" input_arg { name: "a" type_attr: "T" } output_arg { name: "r" type_attr: "T" }
              attr { name: "T" type: "type" } }
  node_def { name: "inner" op: "f" input: "a" input: "a" }
  node_def { name: "out" op: "Neg" input: "inner:q:0" attr { key: "T" value { placeholder: "T" } } }
  ret { key: "r" value: "out:y:0" } })";
  const Graph graph = Inlined(std::string(kInputs) + R"(
node { name: "call" op: "g" input: "x" attr { key: "T" value { type: DT_FLOAT } } })" +
                              Library(caller + kProductFunction));
  EXPECT_THAT(InputsOf(graph, "call/inner/mul"), ElementsAre("x", "x"));
  EXPECT_THAT(InputsOf(graph, "call/out"), ElementsAre("x"));
  EXPECT_EQ(NodeCalled(graph, "call/out").TypeAttr("T"), DataType::kFloat);
  EXPECT_EQ(NodeCalled(graph, "call").op, "Identity");
}

TEST(InlineFunctions, WhatCannotBeInlinedIsSaid) {
  const auto error = [](const std::string& text) { return ErrorOf([&] { Inlined(text); }); };
  EXPECT_THAT(error(kInputs + CallOf("h") + kProduct),
              HasSubstr("node 'call' calls function 'h', which is not in the graph's library"));
  EXPECT_THAT(error(std::string(kInputs) + R"(node { name: "call" op: "f" input: "x" })" + kProduct),
              HasSubstr("gives function 'f' 1 arguments; it takes 2"));
  EXPECT_THAT(error(R"(node { name: "call" op: "loop" }
library { function { signature { name: "loop" } node_def { name: "again" op: "loop" } } })"),
              HasSubstr("a function calls itself"));
  EXPECT_THAT(error(R"(node { name: "call" op: "bad" }
library { function { signature { name: "bad" } node_def { name: "n" op: "Neg" input: "gone:y:0" } } })"),
              HasSubstr("function 'bad' has no node or argument 'gone'"));
  EXPECT_THAT(error(R"(node { name: "call" op: "loop" }
library { function { signature { name: "same" input_arg { name: "a" type: DT_FLOAT }
                     output_arg { name: "r" type: DT_FLOAT } } ret { key: "r" value: "a" } }
          function { signature { name: "loop" } node_def { name: "n" op: "same" input: "m:r:0" }
                     node_def { name: "m" op: "same" input: "n:r:0" } } })"),
              HasSubstr("a call that gives itself back"));
}

// A graph that grows to 2^40 nodes is refused soon.
TEST(InlineFunctions, FunctionsThatGrowWithoutBoundsAreRefused) {
  std::string library = "library {";
  for (int i = 0; i < 40; ++i) {
    const std::string next = i == 39 ? "NoOp" : "f" + std::to_string(i + 1);
    library += R"(function { signature { name: "f)" + std::to_string(i) +
               R"(" } node_def { name: "a" op: ")" + next + R"(" } node_def { name: "b" op: ")" + next +
               R"(" } })";
  }
  EXPECT_THAT(ErrorOf([&] { Inlined(R"(node { name: "call" op: "f0" })" + library + "}"); }),
              HasSubstr("once its functions are inlined"));
}

}  // namespace
}  // namespace lanescope
