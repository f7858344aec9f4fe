// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/value_bounds.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/graph/graph_builder.h"

namespace lanescope {
namespace {

Bounds BoundsOf(Graph graph, const char* name, const Box& box) {
  const GraphInfo info = InferGraph(graph, {});
  ValueBounds bounds(graph, info);
  return bounds.Of(graph.FindEndpoint(name), box);
}

// A causal mask of 8 tokens as programs write it: places from ranges, compared, and chosen by.
Graph CausalMask() {
  GraphBuilder graph;
  const auto range = [&](const char* name, const Shape& shape) {
    const Endpoint numbers = graph.Op("Range", std::string(name) + "/range")
                                 .Input(graph.Scalar(std::string(name) + "/from", int64_t{0}))
                                 .Input(graph.Scalar(std::string(name) + "/to", int64_t{8}))
                                 .Input(graph.Scalar(std::string(name) + "/by", int64_t{1}))
                                 .Build();
    const std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    const Endpoint wanted = graph.Const(std::string(name) + "/shape", Tensor::FromValues(Shape{2}, dims));
    return graph.Op("Reshape", name).Input(numbers).Input(wanted).Build();
  };
  const Endpoint queries = range("queries", Shape{8, 1}), keys = range("keys", Shape{1, 8});
  const Endpoint sees = graph.Op("LessEqual", "sees").Input(keys).Input(queries).Build();
  graph.Op("SelectV2", "mask")
      .Input(sees)
      .Input(graph.Scalar("nothing", 0.0f))
      .Input(graph.Scalar("low", -1e30f))
      .Build();
  graph.Op("LogicalNot", "hides").Input(sees).Build();
  return graph.Take();
}

// Law: of a part of a mask it is known what all its elements are, or between which two they lie.
TEST(ValueBoundsTest, PartsOfACausalMask) {
  const Bounds later = BoundsOf(CausalMask(), "mask", {{0, 3}, {4, 7}});
  EXPECT_LE(later.greatest, -1e30f);
  const Bounds earlier = BoundsOf(CausalMask(), "mask", {{4, 7}, {0, 3}});
  EXPECT_EQ(earlier.least, 0);
  EXPECT_EQ(earlier.greatest, 0);
  const Bounds mixed = BoundsOf(CausalMask(), "mask", {{0, 3}, {3, 7}});
  EXPECT_LE(mixed.least, -1e30f);
  EXPECT_EQ(mixed.greatest, 0);
  EXPECT_EQ(BoundsOf(CausalMask(), "hides", {{0, 3}, {4, 7}}).least, 1);
}

// Law: of a band about the diagonal it is known which parts lie in it, and which outside.
TEST(ValueBoundsTest, PartsOfABand) {
  GraphBuilder graph;
  const Endpoint dims = graph.Const("dims", Tensor::FromValues(Shape{2}, std::vector<int32_t>{8, 8}));
  const Endpoint ones = graph.Op("Fill", "ones").Input(dims).Input(graph.Scalar("one", 1.0f)).Build();
  graph.Op("MatrixBandPart", "lower")
      .Input(ones)
      .Input(graph.Scalar("all", int64_t{-1}))
      .Input(graph.Scalar("none", int64_t{0}))
      .Build();
  const Graph taken = graph.Take();
  const auto of = [&](const Box& box) { return BoundsOf(taken, "lower", box); };
  EXPECT_EQ(of({{0, 3}, {4, 7}}).greatest, 0);
  EXPECT_EQ(of({{4, 7}, {0, 4}}).least, 1);
  EXPECT_EQ(of({{4, 7}, {0, 5}}).least, 0);
  EXPECT_EQ(of({{0, 3}, {3, 7}}).greatest, 1);
}

// Law: a constant is looked at where the part lies; of what is fed nothing is known.
TEST(ValueBoundsTest, ConstantsAndFeeds) {
  GraphBuilder graph;
  const Endpoint values =
      graph.Const("values", Tensor::FromValues(Shape{2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  const Endpoint fed = graph.Placeholder("fed", DataType::kFloat, Shape{2, 3});
  graph.Op("AddV2", "sum").Input(values).Input(fed).Build();
  const Graph taken = graph.Take();
  const GraphInfo info = InferGraph(taken, {});
  ValueBounds bounds(taken, info);
  const Bounds part = bounds.Of(taken.FindEndpoint("values"), {{1, 1}, {0, 1}});
  EXPECT_EQ(part.least, 4);
  EXPECT_EQ(part.greatest, 5);
  EXPECT_EQ(bounds.Of(taken.FindEndpoint("sum"), {{0, 1}, {0, 2}}).greatest,
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace lanescope
