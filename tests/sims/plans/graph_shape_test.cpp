// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/graph_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/graph/graph_builder.h"

namespace lanescope::sims::plans {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kBatch = 3, kTokens = 5, kHeads = 4, kSize = 8, kHidden = 24, kVocabulary = 100;

class ModelGraph {
 public:
  Endpoint Weight(const std::string& name, const Shape& shape) {
    const Endpoint variable =
        builder_.Op("VarHandleOp", name).Attr("dtype", DataType::kFloat).Attr("shape", shape).Build();
    return builder_.Op("ReadVariableOp", name + "/read")
        .Input(variable)
        .Attr("dtype", DataType::kFloat)
        .Build();
  }
  void Embed() {
    const Endpoint tokens = builder_.Placeholder("tokens", DataType::kInt64, Shape{kBatch, kTokens});
    builder_.Op("GatherV2", "embed")
        .Input(Weight("wte/weight", Shape{kVocabulary, kHidden}))
        .Input(tokens)
        .Input(builder_.Const("axis", Tensor::Scalar<int32_t>(0)))
        .Build();
  }
  // Linear layers of `sizes` outputs, the last back to hidden.
  void Layer(int number, const std::vector<std::pair<int64_t, int64_t>>& matrices) {
    int count = 0;
    for (const auto& [rows, columns] : matrices)
      Weight("h/" + std::to_string(number) + "/w" + std::to_string(count++), Shape{rows, columns});
  }
  void Attend() {
    const Endpoint q = builder_.Placeholder("q", DataType::kFloat, Shape{kBatch * kHeads, kTokens, kSize});
    builder_.Op("BatchMatMulV2", "scores").Input(q).Input(q).Attr("adj_y", true).Build();
  }
  ModelShape Read() {
    const Graph graph = builder_.Take();
    return ShapeOfGraph(graph, InferGraph(graph, {}), "model.pb");
  }
  std::string Refusal() {
    try {
      Read();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      return error.message();
    }
    return "";
  }

 private:
  GraphBuilder builder_;
};

// Four heads of 8, two of keys and values; a gated network of width 56; layers 0 to 10.
TEST(GraphShapeTest, SeparateMatricesWithAGate) {
  ModelGraph graph;
  graph.Embed();
  graph.Weight("head/weight", Shape{kVocabulary, kHidden});
  for (int layer = 0; layer < 11; ++layer)
    graph.Layer(layer, {{32, 24}, {16, 24}, {16, 24}, {24, 32}, {56, 24}, {56, 24}, {24, 56}});
  graph.Attend();
  const ModelShape model = graph.Read();
  EXPECT_EQ(model.layers, 11);
  EXPECT_EQ(model.hidden, 24);
  EXPECT_EQ(model.vocabulary, 100);
  EXPECT_EQ(model.heads, 4);
  EXPECT_EQ(model.kv_heads, 2);
  EXPECT_EQ(model.head_size, 8);
  EXPECT_EQ(model.ffn, 56);
  EXPECT_TRUE(model.gated);
  EXPECT_FALSE(model.tied);
}

// GPT-2's: queries, keys and values in one matrix, two of the network, the embedding as output layer.
TEST(GraphShapeTest, OneMatrixOfQueriesKeysAndValues) {
  ModelGraph graph;
  graph.Embed();
  for (int layer = 0; layer < 2; ++layer) graph.Layer(layer, {{24, 96}, {32, 24}, {24, 80}, {80, 24}});
  graph.Attend();
  const ModelShape model = graph.Read();
  EXPECT_EQ(model.kv_heads, 4);
  EXPECT_EQ(model.ffn, 80);
  EXPECT_FALSE(model.gated);
  EXPECT_TRUE(model.tied);
}

TEST(GraphShapeTest, OtherGraphsAreRefusedWithTheReason) {
  ModelGraph nothing;
  EXPECT_THAT(nothing.Refusal(), HasSubstr("model.pb is no model's shape: it gathers rows of no embedding"));
  ModelGraph flat;
  flat.Embed();
  EXPECT_THAT(flat.Refusal(), HasSubstr("no layers under numbered scopes"));
  ModelGraph uneven;
  uneven.Embed();
  uneven.Layer(0, {{24, 96}});
  uneven.Layer(1, {{24, 80}});
  EXPECT_THAT(uneven.Refusal(), HasSubstr("layers 0 and 1 have other matrices"));
  ModelGraph experts;
  experts.Embed();
  experts.Weight("h/0/experts", Shape{8, 24, 80});
  EXPECT_THAT(experts.Refusal(), HasSubstr("'h/0/experts' is no matrix"));
  ModelGraph without;
  without.Embed();
  without.Layer(0, {{24, 96}, {32, 24}, {24, 80}, {80, 24}});
  EXPECT_THAT(without.Refusal(), HasSubstr("no attention"));
  ModelGraph strange;
  strange.Embed();
  strange.Layer(0, {{24, 96}, {32, 24}, {24, 80}});
  strange.Attend();
  EXPECT_THAT(strange.Refusal(), HasSubstr("not those of attention with 4 heads"));
}

}  // namespace
}  // namespace lanescope::sims::plans
