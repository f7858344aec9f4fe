// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "core/graph/graph_io.h"
#include "core/graph/validate.h"
#include "core/inputs/run_spec.h"
#include "tests/core/graph/op_case.h"
#include "tests/support/paths.h"

namespace lanescope {
namespace {

TEST(InferGraph, FeedsReplaceTheProducer) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, ShapeOf("[?,4]"));
  const Endpoint shape = builder.Op("Shape", "shape").Input(x).Build();
  const Endpoint relu = builder.Op("Relu", "relu").Input(x).Build();
  const Endpoint tanh = builder.Op("Tanh", "tanh").Input(relu).Build();
  EXPECT_EQ(Describe(InferGraph(builder.graph(), {}).of(shape)), "[2]~{0..,4}");
  const TensorInfo four = Float("[8,4]").info;
  EXPECT_EQ(Describe(InferGraph(builder.graph(), {{x, four}}).of(shape)), "[2]={8,4}");
  // Any output may be fed, with any shape.
  EXPECT_EQ(Describe(InferGraph(builder.graph(), {{relu, Float("[5]").info}}).of(tanh)), "[5]");
  EXPECT_THROW(InferGraph(builder.graph(), {{x, Float("[8,3]").info}}), Error);
  EXPECT_THROW(InferGraph(builder.graph(), {{x, Int("[8,4]").info}}), Error);
  EXPECT_THROW(InferGraph(builder.graph(), {{Endpoint{x.node, 1}, four}}), Error);
}

TEST(InferGraph, UnknownOpsTakeTheirShapesFromAttributes) {
  Graph graph;
  Node strange;
  strange.name = "strange";
  strange.op = "Strange";
  strange.attrs["T"] = DataType::kDouble;
  strange.attrs["_output_shapes"] = std::vector<ShapeAttr>{{ShapeOf("[2,3]"), ""}, {ShapeOf("[?]"), ""}};
  graph.AddNode(strange);
  const GraphInfo info = InferGraph(graph, {});
  ASSERT_EQ(info.outputs(NodeId(0)).size(), 2u);
  EXPECT_EQ(info.of({NodeId(0), 0}).shape, ShapeOf("[2,3]"));
  EXPECT_EQ(info.of({NodeId(0), 1}).dtype, DataType::kDouble);
}

// An unknown op has the outputs that others read, of the types that they expect.
TEST(InferGraph, UnknownOpsHaveTheOutputsThatAreRead) {
  Graph graph;
  Node strange;
  strange.name = "strange";
  strange.op = "Strange";
  graph.AddNode(strange);
  Node gather;
  gather.name = "gather";
  gather.op = "Gather";
  gather.attrs["Tparams"] = DataType::kDouble;
  gather.attrs["Tindices"] = DataType::kInt64;
  gather.inputs = {{NodeId(0), 0}, {NodeId(0), 2}};
  graph.AddNode(gather);
  EXPECT_NO_THROW(ValidateGraph(graph));
  const GraphInfo info = InferGraph(graph, {});
  ASSERT_EQ(info.outputs(NodeId(0)).size(), 3u);
  EXPECT_EQ(info.of({NodeId(0), 0}).dtype, DataType::kDouble);
  EXPECT_EQ(info.of({NodeId(0), 2}).dtype, DataType::kInt64);
  EXPECT_FALSE(info.of({NodeId(1), 0}).shape.known_rank());
}

TEST(InferGraph, ConstantsShareTheAttributesBuffer) {
  GraphBuilder builder;
  const Endpoint c = builder.Const("c", Tensor::FromValues<float>({2}, {1, 2}));
  const GraphInfo info = InferGraph(builder.graph(), {});
  EXPECT_EQ(info.of(c).value->data<float>(),
            builder.graph().node(c.node).GetTensorAttr("value").data<float>());
}

TEST(InferGraph, ErrorsNameTheNode) {
  GraphBuilder builder;
  const Endpoint a = builder.Placeholder("a", DataType::kFloat, {2, 3});
  builder.Op("MatMul", "product").Input(a).Input(a).Build();
  try {
    InferGraph(builder.graph(), {});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "node 'product': MatMul: Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]");
  }
}

// A graph that was made by hand may have too few inputs; rules must not read beyond them.
TEST(InferGraph, RefusesAWrongNumberOfInputs) {
  Graph graph;
  Node node;
  node.name = "add";
  node.op = "AddV2";
  node.attrs["T"] = DataType::kFloat;
  graph.AddNode(node);
  EXPECT_THROW(InferGraph(graph, {}), Error);
}

std::vector<std::string> SampleGraphs() {
  std::vector<std::string> paths;
  const std::filesystem::path folder = std::filesystem::path(test::SourceDir()) / "samples" / "graphs";
  if (!std::filesystem::exists(folder)) return paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".pbtxt") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// With the feeds of the run configuration every output is exact or bounded.
TEST(InferGraph, SampleGraphsAreInferredCompletely) {
  const std::vector<std::string> paths = SampleGraphs();
  if (paths.empty()) GTEST_SKIP() << "no graphs in samples/graphs";
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const Graph graph = ReadGraph(path);
    std::vector<std::pair<Endpoint, TensorInfo>> feeds;
    for (const auto& [name, feed] : ReadRunSpecBeside(path).feeds) {
      feeds.emplace_back(graph.FindEndpoint(name), Typed(feed.dtype, feed.shape.ToString()).info);
    }
    const GraphInfo info = InferGraph(graph, feeds);
    for (const NodeId id : graph.node_ids()) {
      for (const TensorInfo& output : info.outputs(id)) {
        EXPECT_TRUE(output.shape.HasBound()) << graph.node(id).name << ' ' << output.shape.ToString();
      }
    }
  }
}

}  // namespace
}  // namespace lanescope
