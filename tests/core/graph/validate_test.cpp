// SPDX-License-Identifier: Apache-2.0
#include "core/graph/validate.h"

#include "core/graph/graph_builder.h"
#include "core/place/placer.h"
#include "core/schedule/schedule.h"
#include "tests/core/graph/op_case.h"

namespace lanescope {
namespace {

// a, b: float placeholders; c: their product.
Graph ProductGraph() {
  GraphBuilder builder;
  const Endpoint a = builder.Placeholder("a", DataType::kFloat, {2, 3});
  const Endpoint b = builder.Placeholder("b", DataType::kFloat, {3, 4});
  builder.Op("MatMul", "c").Input(a).Input(b).Build();
  return builder.Take();
}

std::string Complaint(const Graph& graph) {
  try {
    ValidateGraph(graph);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(ValidateGraph, AcceptsAGoodGraph) { EXPECT_EQ(Complaint(ProductGraph()), ""); }

TEST(ValidateGraph, WrongDtype) {
  Graph graph = ProductGraph();
  graph.node(NodeId(0)).attrs["dtype"] = DataType::kInt32;
  EXPECT_EQ(Complaint(graph), "InvalidArgument: node 'c': MatMul input 0 has dtype int32, expected float");
}

TEST(ValidateGraph, WrongInputs) {
  Graph graph = ProductGraph();
  graph.node(NodeId(2)).inputs.pop_back();
  EXPECT_EQ(Complaint(graph), "InvalidArgument: node 'c': MatMul takes 2 inputs, not 1");
  graph = ProductGraph();
  graph.node(NodeId(2)).inputs[1].output = 3;
  EXPECT_EQ(Complaint(graph),
            "InvalidArgument: node 'c': input 1 is 'b:3', but Placeholder 'b' has 1 outputs");
  graph = ProductGraph();
  graph.node(NodeId(2)).inputs[1].node = NodeId(17);
  EXPECT_EQ(Complaint(graph),
            "InvalidArgument: node 'c': input 1 comes from node number 17, which is not in the graph");
}

TEST(ValidateGraph, BadAttributes) {
  Graph graph = ProductGraph();
  graph.node(NodeId(2)).attrs.erase("T");
  EXPECT_EQ(Complaint(graph), "InvalidArgument: node 'c': MatMul lacks attribute 'T' (type)");
  graph.node(NodeId(2)).attrs["T"] = DataType::kString;
  EXPECT_NE(Complaint(graph).find("node 'c': attribute 'T' of MatMul is string, expected one of"),
            std::string::npos);
  graph.node(NodeId(2)).attrs["T"] = int64_t{1};
  EXPECT_EQ(Complaint(graph),
            "InvalidArgument: node 'c': attribute 'T' of MatMul is a value of kind int, expected type");
}

TEST(ValidateGraph, AttributeOutOfRange) {
  GraphBuilder builder;
  const Endpoint a = builder.Placeholder("a", DataType::kFloat, {4});
  const Endpoint axis = builder.Scalar<int32_t>("axis", 0);
  builder.Op("Split", "s").Input(axis).Input(a).Attr("num_split", 2).Build();
  Graph graph = builder.Take();
  graph.node(NodeId(2)).attrs["num_split"] = int64_t{0};
  EXPECT_EQ(Complaint(graph),
            "InvalidArgument: node 's': attribute 'num_split' of Split is 0, expected at least 1");
  graph.node(NodeId(2)).attrs["num_split"] = int64_t{1} << 40;
  EXPECT_NE(Complaint(graph).find("node 's'"), std::string::npos);
}

TEST(ValidateGraph, AbsurdShape) {
  Graph graph;
  Node variable;
  variable.name = "v";
  variable.op = "VariableV2";
  variable.attrs["dtype"] = DataType::kFloat;
  variable.attrs["shape"] = ShapeAttr{{int64_t{1} << 40, int64_t{1} << 40}, ""};
  graph.AddNode(variable);
  EXPECT_NE(Complaint(graph).find("expected a shape of at most 2^40 bytes"), std::string::npos);
}

TEST(ValidateGraph, ReferencesMustBeReferences) {
  GraphBuilder builder;
  const Endpoint v =
      builder.Op("VariableV2", "v").Attr("shape", Shape{2}).Attr("dtype", DataType::kFloat).Build();
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, {2});
  builder.Op("Assign", "assign").Input(v).Input(x).Build();
  Graph graph = builder.Take();
  EXPECT_EQ(Complaint(graph), "");
  graph.node(NodeId(2)).inputs[0] = x;
  EXPECT_EQ(Complaint(graph),
            "InvalidArgument: node 'assign': Assign input 0 has dtype float, expected float_ref");
}

// Other control flow, and calls, are ops without a definition.
TEST(ValidateGraph, LoopsAreUnimplemented) {
  for (const char* op : {"Enter", "Exit", "NextIteration", "LoopCond"}) {
    Graph graph = ProductGraph();
    graph.node(NodeId(2)).op = op;
    const std::string complaint = Complaint(graph);
    EXPECT_TRUE(complaint.starts_with("Unimplemented: node 'c': ")) << complaint;
  }
  for (const char* op : {"Switch", "Merge", "While", "If", "PartitionedCall"}) {
    Graph graph = ProductGraph();
    graph.node(NodeId(2)).op = op;
    EXPECT_EQ(Complaint(graph), "") << op;
  }
}

TEST(ValidateGraph, Cycles) {
  Graph graph = ProductGraph();
  graph.node(NodeId(0)).op = "Relu";
  graph.node(NodeId(0)).attrs = {{"T", DataType::kFloat}};
  graph.node(NodeId(0)).inputs = {{NodeId(2), 0}};
  EXPECT_NE(Complaint(graph).find("cycle"), std::string::npos);
}

// Its dtypes are a guess, so its users are not checked against them.
TEST(ValidateGraph, UnknownOpsPass) {
  Graph graph = ProductGraph();
  graph.node(NodeId(0)).op = "Strange";
  graph.node(NodeId(0)).attrs = {{"T", DataType::kInt32}};
  EXPECT_EQ(Complaint(graph), "");
  graph.node(NodeId(2)).inputs[0].output = 7;
  EXPECT_EQ(Complaint(graph), "");
  graph.node(NodeId(2)).inputs[0].output = 1 << 20;
  EXPECT_NE(Complaint(graph).find("output 1048576 of 'a'"), std::string::npos);
}

// A fault of a node concerns only the steps that need it.
TEST(NoteProblems, AreSaidWhereANodeIsNeeded) {
  GraphBuilder builder;
  const Endpoint a = builder.Placeholder("a", DataType::kFloat, {2, 2});
  const Endpoint bad = builder.Op("MatMul", "bad").Input(a).Input(a).Build();
  const Endpoint after = builder.Op("Relu", "after").Input(bad).Build();
  const Endpoint good = builder.Op("Relu", "good").Input(a).Build();
  Graph graph = builder.Take();
  graph.node(bad.node).attrs.erase("T");
  NoteProblems(&graph);
  ASSERT_EQ(graph.problems.size(), 1u);
  const std::vector<std::pair<Endpoint, TensorInfo>> feeds = {{a, Float("[2,2]").info}};
  const GraphInfo info = InferGraph(graph, feeds);
  EXPECT_FALSE(info.of(after).shape.known_rank());
  const Machine machine = VirtualMachine(2, 1);
  const Placement placement = PlaceGraph(graph, machine, {});
  EXPECT_NO_THROW(Compile(graph, info, {feeds, {good}, {}}, placement, machine));
  try {
    Compile(graph, info, {feeds, {after}, {}}, placement, machine);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "node 'bad': MatMul lacks attribute 'T' (type)");
  }
}

}  // namespace
}  // namespace lanescope
