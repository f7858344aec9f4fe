// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/base/expect_error.h"
#include "tests/support/ids.h"

namespace lanescope {
namespace {

using testing::AllOf;
using testing::ElementsAreArray;
using testing::HasSubstr;

NodeId Add(Graph* graph, std::string name, std::vector<Endpoint> inputs = {}, std::vector<int> control = {}) {
  Node node;
  node.name = std::move(name);
  node.op = "Op";
  node.inputs = std::move(inputs);
  for (const int source : control) node.control_inputs.emplace_back(source);
  return graph->AddNode(std::move(node));
}

TEST(Graph, NamesAreUnique) {
  Graph graph;
  EXPECT_EQ(Add(&graph, "a"), NodeId(0));
  EXPECT_THAT(ErrorOf([&] { Add(&graph, "a"); }), AllOf(HasSubstr("AlreadyExists"), HasSubstr("'a'")));
  EXPECT_EQ(graph.FindNode("a"), NodeId(0));
  EXPECT_FALSE(graph.FindNode("b").exists());
}

TEST(Graph, TensorNamesAreReadAndWritten) {
  Graph graph;
  Add(&graph, "a");
  const NodeId b = Add(&graph, "scope/b");
  EXPECT_EQ(graph.FindEndpoint("scope/b"), (Endpoint{b, 0}));
  EXPECT_EQ(graph.FindEndpoint("scope/b:0"), (Endpoint{b, 0}));
  EXPECT_EQ(graph.FindEndpoint("scope/b:12"), (Endpoint{b, 12}));
  EXPECT_EQ(graph.FindEndpoint("^scope/b"), (Endpoint{b, -1}));
  EXPECT_EQ(graph.TensorName({b, 0}), "scope/b");
  EXPECT_EQ(graph.TensorName({b, 3}), "scope/b:3");
  EXPECT_EQ(graph.TensorName({b, -1}), "^scope/b");
}

TEST(Graph, AMissingTensorNamesTheClosest) {
  Graph graph;
  Add(&graph, "layer1/weights");
  Add(&graph, "layer2/bias");
  EXPECT_THAT(ErrorOf([&] { graph.FindEndpoint("layer1/weight:0"); }),
              AllOf(HasSubstr("NotFound"), HasSubstr("'layer1/weight:0'"), HasSubstr("'layer1/weights'")));
  for (const char* bad :
       {"layer2/bias:", "layer2/bias:-1", "layer2/bias:x", "layer2/bias:99999999999", "", "^"}) {
    EXPECT_THAT(ErrorOf([&] { graph.FindEndpoint(bad); }), HasSubstr("NotFound")) << bad;
  }
}

TEST(TopologicalOrder, TakesTheSmallestReadyNode) {
  Graph graph;
  // 0 waits for 3; 1 and 2 are free; 3 waits for 2 by control.
  Add(&graph, "n0", {{NodeId(3), 0}});
  Add(&graph, "n1");
  Add(&graph, "n2");
  Add(&graph, "n3", {}, {2});
  Add(&graph, "n4", {{NodeId(0), 0}, {NodeId(0), 0}, {NodeId(1), 0}});
  EXPECT_THAT(graph.TopologicalOrder(), ElementsAreArray(test::Ids<NodeId>({1, 2, 3, 0, 4})));
}

TEST(TopologicalOrder, NamesTheNodesOfACycle) {
  Graph graph;
  Add(&graph, "start");
  Add(&graph, "a", {{NodeId(3), 0}, {NodeId(0), 0}});
  Add(&graph, "b", {{NodeId(1), 0}});
  Add(&graph, "c", {}, {2});
  Add(&graph, "after", {{NodeId(3), 0}});
  const std::string error = ErrorOf([&] { graph.TopologicalOrder(); });
  EXPECT_THAT(error, AllOf(HasSubstr("InvalidArgument"), HasSubstr("'a' -> 'b' -> 'c'"),
                           testing::Not(HasSubstr("start")), testing::Not(HasSubstr("after"))));
}

TEST(TopologicalOrder, ANodeThatWaitsForItselfIsACycle) {
  Graph graph;
  Add(&graph, "self", {{NodeId(0), 0}});
  EXPECT_THAT(ErrorOf([&] { graph.TopologicalOrder(); }), HasSubstr("'self' -> 'self'"));
}

TEST(TopologicalOrder, LongCyclesAreShortened) {
  Graph graph;
  for (int i = 0; i < 20; ++i) Add(&graph, fmt::format("n{}", i), {{NodeId((i + 19) % 20), 0}});
  EXPECT_THAT(ErrorOf([&] { graph.TopologicalOrder(); }), HasSubstr("(12 more)"));
}

TEST(TopologicalOrder, RefusesInputsThatDoNotExist) {
  Graph graph;
  Add(&graph, "a", {{NodeId(7), 0}});
  EXPECT_THAT(ErrorOf([&] { graph.TopologicalOrder(); }), AllOf(HasSubstr("'a'"), HasSubstr("7")));
}

TEST(TopologicalOrder, LargeGraphsInReverseFileOrder) {
  Graph graph;
  constexpr int kNodes = 100'000;
  for (int i = 0; i < kNodes; ++i) {
    std::vector<Endpoint> inputs;
    if (i + 1 < kNodes) inputs = {{NodeId(i + 1), 0}, {NodeId(std::min(i + 7, kNodes - 1)), 0}};
    Add(&graph, fmt::format("n{}", i), inputs);
  }
  const std::vector<NodeId> order = graph.TopologicalOrder();
  ASSERT_EQ(order.size(), static_cast<size_t>(kNodes));
  for (int i = 0; i < kNodes; ++i) ASSERT_EQ(order[static_cast<size_t>(i)], NodeId(kNodes - 1 - i));
}

TEST(Fanout, ListsDataAndControlEdges) {
  Graph graph;
  Add(&graph, "a");
  Add(&graph, "b", {{NodeId(0), 1}, {NodeId(0), 0}}, {0});
  const Fanout fanout = ComputeFanout(graph);
  ASSERT_EQ(fanout[NodeId(0)].size(), 3u);
  EXPECT_EQ(fanout[NodeId(0)][0].input, 0);
  EXPECT_EQ(fanout[NodeId(0)][0].output, 1);
  EXPECT_EQ(fanout[NodeId(0)][2].input, -1);
  EXPECT_EQ(fanout[NodeId(0)][2].output, -1);
  EXPECT_TRUE(fanout[NodeId(1)].empty());
}

TEST(NodeAttrs, TypedAccess) {
  Node node;
  node.name = "n";
  node.op = "Op";
  node.attrs = {{"T", DataType::kFloat}, {"k", int64_t{3}}, {"none", std::vector<int64_t>{}}};
  EXPECT_EQ(node.TypeAttr("T"), DataType::kFloat);
  EXPECT_EQ(node.IntAttr("k"), 3);
  EXPECT_EQ(node.IntAttr("missing", 7), 7);
  EXPECT_EQ(node.StringAttr("missing", "x"), "x");
  EXPECT_TRUE(node.StringListAttr("none").empty()) << "a file does not say of what an empty list is";
  EXPECT_TRUE(node.TypeListAttr("none").empty());
}

TEST(NodeAttrs, ErrorsNameNodeAndAttribute) {
  Node node;
  node.name = "n";
  node.op = "Op";
  node.attrs = {{"k", int64_t{3}}, {"s", std::string()}, {"l", std::vector<int64_t>{1}}};
  EXPECT_THAT(ErrorOf([&] { node.TypeAttr("T"); }),
              AllOf(HasSubstr("InvalidArgument"), HasSubstr("'n'"), HasSubstr("'T'")));
  EXPECT_THAT(ErrorOf([&] { node.TypeAttr("k"); }),
              HasSubstr("'k' of node 'n' (Op) has the type int, not type"));
  EXPECT_THAT(ErrorOf([&] { node.IntListAttr("s"); }), HasSubstr("list(int)"));
  EXPECT_THAT(ErrorOf([&] { node.TypeListAttr("l"); }), HasSubstr("list(type)"));
  EXPECT_THAT(ErrorOf([&] { node.BoolAttr("k", true); }), HasSubstr("not bool"));
}

TEST(NodeName, FollowsTensorFlowsRule) {
  for (const char* good : {"a", "_internal", ".x", "a/b-c>d\\e.f_1", "0"}) EXPECT_TRUE(IsValidNodeName(good));
  for (const char* bad : {"", "^a", "a:0", "/a", "-a", ">a", "a b", "\xc3\xa4"})
    EXPECT_FALSE(IsValidNodeName(bad));
}

}  // namespace
}  // namespace lanescope
