// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph_io.h"
#include "core/graph/infer_node.h"
#include "tests/core/base/expect_error.h"

namespace lanescope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(GraphBuilder, TypesFollowFromTheInputsAndDefaultsAreFilled) {
  GraphBuilder builder;
  const Endpoint a = builder.Placeholder("a", DataType::kDouble, {2, 3});
  const Endpoint b = builder.Const("b", Tensor(DataType::kDouble, {3, 4}));
  const Endpoint c =
      builder.Op("MatMul", "c").Input(a).Input(b).Attr("transpose_b", true).Device("/gpu:0").Build();
  const Node& node = builder.graph().node(c.node);
  EXPECT_EQ(node.TypeAttr("T"), DataType::kDouble);
  EXPECT_FALSE(node.BoolAttr("transpose_a"));
  EXPECT_TRUE(node.BoolAttr("transpose_b"));
  EXPECT_EQ(node.device, "/gpu:0");
  EXPECT_THAT(node.inputs, ElementsAre(a, b));
}

TEST(GraphBuilder, AFinishedNodeIsNotInTheGraphAndCanBeInferred) {
  GraphBuilder builder;
  const Endpoint a = builder.Placeholder("a", DataType::kDouble, {2, 3});
  NodeBuilder c = builder.Op("MatMul", "c");
  c.Input(a).Input(a).Attr("transpose_b", true);
  const Node node = c.Finish();
  EXPECT_EQ(builder.graph().num_nodes(), 1);
  EXPECT_EQ(node.TypeAttr("T"), DataType::kDouble);
  TensorInfo input;
  input.dtype = DataType::kDouble;
  input.shape = {2, 3};
  const std::vector<TensorInfo> outputs = InferNode(node, std::vector<TensorInfo>{input, input});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].dtype, DataType::kDouble);
  EXPECT_EQ(outputs[0].shape, (Shape{2, 2}));
  input.shape = {2};
  EXPECT_THAT(ErrorOf([&] {
                InferNode(node, std::vector<TensorInfo>{input, input});
              }),
              AllOf(HasSubstr("InvalidArgument"), HasSubstr("'c'")));
}

TEST(GraphBuilder, CountsFollowFromTheInputs) {
  GraphBuilder builder;
  const std::vector<Endpoint> parts = {builder.Scalar("a", 1.0f), builder.Scalar("b", 2.0f)};
  const Endpoint sum = builder.Op("AddN", "sum").Inputs(parts).Build();
  EXPECT_EQ(builder.graph().node(sum.node).IntAttr("N"), 2);
  EXPECT_EQ(builder.graph().node(sum.node).TypeAttr("T"), DataType::kFloat);
  // Arguments after a list of tensors: the list takes what they leave.
  const Endpoint axis = builder.Scalar<int32_t>("axis", 0);
  const Endpoint concat = builder.Op("ConcatV2", "concat").Inputs(parts).Input(axis).Build();
  EXPECT_EQ(builder.graph().node(concat.node).IntAttr("N"), 2);
  EXPECT_EQ(builder.graph().node(concat.node).TypeAttr("Tidx"), DataType::kInt32);
}

TEST(GraphBuilder, ControlInputsComeFromNodesOrTensors) {
  GraphBuilder builder;
  const Endpoint a = builder.Scalar("a", 1.0f);
  const Endpoint n = builder.Op("NoOp", "n").ControlInput(a).ControlInput(a.node).Build();
  EXPECT_THAT(builder.graph().node(n.node).control_inputs, ElementsAre(NodeId(0), NodeId(0)));
}

TEST(GraphBuilder, AttributesOfUnknownOpsAreKeptAsGiven) {
  GraphBuilder builder;
  const Endpoint n = builder.Op("NoSuchOp", "n")
                         .Attr("int", 3)
                         .Attr("float", 0.5)
                         .Attr("string", "text")
                         .Attr("flag", true)
                         .Attr("shape", Shape{2})
                         .Attr("list", std::vector<int64_t>{1, 2})
                         .Build();
  const Node& node = builder.graph().node(n.node);
  EXPECT_EQ(node.IntAttr("int"), 3);
  EXPECT_EQ(node.FloatAttr("float"), 0.5f);
  EXPECT_EQ(node.StringAttr("string"), "text");
  EXPECT_TRUE(node.BoolAttr("flag"));
  EXPECT_EQ(node.GetShapeAttr("shape"), Shape{2});
  EXPECT_THAT(node.IntListAttr("list"), ElementsAre(1, 2));
}

TEST(GraphBuilder, WrongNodesAreRefusedNamingThem) {
  GraphBuilder builder;
  const Endpoint f = builder.Scalar("f", 1.0f);
  const Endpoint i = builder.Scalar<int32_t>("i", 1);
  EXPECT_THAT(ErrorOf([&] { builder.Op("MatMul", "m").Input(f).Build(); }),
              AllOf(HasSubstr("InvalidArgument"), HasSubstr("'m'")));
  EXPECT_THAT(ErrorOf([&] { builder.Op("MatMul", "m").Input(f).Input(f).Input(f).Build(); }),
              HasSubstr("'m'"));
  EXPECT_THAT(ErrorOf([&] { builder.Op("MatMul", "m").Input(f).Input(i).Build(); }),
              AllOf(HasSubstr("'m'"), HasSubstr("int32"), HasSubstr("'T'")));
  EXPECT_THAT(ErrorOf([&] {
                builder.Op("MatMul", "m").Input(f).Input({f.node, 1}).Build();
              }),
              HasSubstr("output 1"));
  EXPECT_THAT(ErrorOf([&] {
                builder.Op("MatMul", "m").Input(f).Input({NodeId(99), 0}).Build();
              }),
              HasSubstr("99"));
  EXPECT_THAT(ErrorOf([&] { builder.Op("Placeholder", "p").Build(); }),
              AllOf(HasSubstr("'p'"), HasSubstr("'dtype'")));
  const Endpoint text = builder.Placeholder("text", DataType::kString, Shape{2});
  const auto hash = [&](int64_t buckets) {
    return ErrorOf(
        [&] { builder.Op("StringToHashBucketFast", "h").Input(text).Attr("num_buckets", buckets).Build(); });
  };
  EXPECT_THAT(hash(0), AllOf(HasSubstr("'h'"), HasSubstr("'num_buckets'"), HasSubstr("at least 1")));
  EXPECT_EQ(hash(1), "");
  EXPECT_THAT(ErrorOf([&] { builder.Op("NoOp", "bad name").Build(); }), HasSubstr("legal"));
  EXPECT_THAT(ErrorOf([&] { builder.Op("NoOp", "f").Build(); }), HasSubstr("AlreadyExists"));
  EXPECT_THAT(ErrorOf([&] {
                builder.Op("NoOp", "n").Input({f.node, -1}).Build();
              }),
              HasSubstr("ControlInput"));
}

TEST(GraphBuilder, BuiltGraphsReadBack) {
  GraphBuilder builder;
  const Endpoint a = builder.Const("a", Tensor::FromValues<float>({2, 2}, {1, 2, 3, 4}), "/device:GPU:1");
  builder.Op("MatMul", "c").Input(a).Input(a).Build();
  const Graph graph = builder.Take();
  EXPECT_EQ(builder.graph().num_nodes(), 0);
  const Graph read = ParseGraphText(GraphToText(graph));
  EXPECT_EQ(GraphToBinary(read), GraphToBinary(graph));
  EXPECT_EQ(read.node(NodeId(0)).GetTensorAttr("value").data<float>()[3], 4.0f);
}

}  // namespace
}  // namespace lanescope
