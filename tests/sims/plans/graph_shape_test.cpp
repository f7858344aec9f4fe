// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/graph_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

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
  // One variable for each shape.
  void Layer(int number, const std::vector<Shape>& matrices) {
    int count = 0;
    for (const Shape& shape : matrices)
      Weight("h/" + std::to_string(number) + "/w" + std::to_string(count++), shape);
  }
  void Multiply(const std::string& name, const Shape& shape) {
    const Endpoint table = Weight(name, shape);
    builder_.Op("Mul", name + "/product").Input(table).Input(table).Build();
  }
  // A token takes the largest `count` of so many numbers.
  void Route(int64_t experts, int32_t count, const std::string& name = "route") {
    const Endpoint scores =
        builder_.Placeholder(name + "/scores", DataType::kFloat, Shape{kBatch * kTokens, experts});
    builder_.Op("TopKV2", name).Input(scores).Input(builder_.Scalar(name + "/k", count)).Build();
  }
  void Attend() {
    const Endpoint q = builder_.Placeholder("q", DataType::kFloat, Shape{kBatch * kHeads, kTokens, kSize});
    builder_.Op("BatchMatMulV2", "scores").Input(q).Input(q).Attr("adj_y", true).Build();
  }
  // Scores, a mask if there is one, and their softmax.
  void AttendWith(const std::optional<Endpoint>& mask) {
    const Endpoint q = builder_.Placeholder("q", DataType::kFloat, Shape{kBatch * kHeads, kTokens, kSize});
    Endpoint scores = builder_.Op("BatchMatMulV2", "scores").Input(q).Input(q).Attr("adj_y", true).Build();
    if (mask) scores = builder_.Op("AddV2", "masked").Input(scores).Input(*mask).Build();
    builder_.Op("Softmax", "softmax").Input(scores).Build();
  }
  // Positions beside each other, as rows and columns.
  Endpoint Later() {
    const auto positions = [&](const std::string& name, const std::vector<int32_t>& shape) {
      const Endpoint range = builder_.Op("Range", name + "/range")
                                 .Input(builder_.Scalar(name + "/from", 0))
                                 .Input(builder_.Scalar(name + "/to", static_cast<int32_t>(kTokens)))
                                 .Input(builder_.Scalar(name + "/by", 1))
                                 .Build();
      const Endpoint to = builder_.Const(
          name + "/shape", Tensor::FromValues(Shape{static_cast<int64_t>(shape.size())}, shape));
      return builder_.Op("Reshape", name).Input(range).Input(to).Build();
    };
    const Endpoint later = builder_.Op("Greater", "later")
                               .Input(positions("keys", {1, static_cast<int32_t>(kTokens)}))
                               .Input(positions("queries", {static_cast<int32_t>(kTokens), 1}))
                               .Build();
    return builder_.Op("Cast", "mask").Input(later).Attr("DstT", DataType::kFloat).Build();
  }
  Endpoint Padding() {
    return builder_.Placeholder("padding", DataType::kFloat, Shape{kBatch * kHeads, 1, kTokens});
  }
  Endpoint Square(float above) {
    std::vector<float> values(kTokens * kTokens);
    for (int64_t i = 0; i < kTokens * kTokens; ++i)
      values[static_cast<size_t>(i)] = i % kTokens > i / kTokens ? above : 0;
    return builder_.Const("square", Tensor::FromValues(Shape{kTokens, kTokens}, values));
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

// Law: what activations are multiplied by element by element is no matrix of a layer: angles of positions,
// and scales of heads.
TEST(GraphShapeTest, TablesOfPositionsAreNoMatrices) {
  ModelGraph graph;
  graph.Embed();
  for (int layer = 0; layer < 2; ++layer) {
    graph.Layer(layer, {{24, 96}, {32, 24}, {24, 80}, {80, 24}});
    graph.Multiply("h/" + std::to_string(layer) + "/angles", Shape{kTokens, 8});
    graph.Multiply("h/" + std::to_string(layer) + "/scale", Shape{kHeads, 1, 1});
  }
  graph.Attend();
  const ModelShape model = graph.Read();
  EXPECT_EQ(model.layers, 2);
  EXPECT_EQ(model.ffn, 80);
  EXPECT_EQ(model.experts, 0);
}

bool IsCausalWith(const std::function<std::optional<Endpoint>(ModelGraph&)>& mask) {
  ModelGraph graph;
  graph.Embed();
  for (int layer = 0; layer < 2; ++layer) graph.Layer(layer, {{24, 96}, {32, 24}, {24, 80}, {80, 24}});
  graph.AttendWith(mask(graph));
  return graph.Read().causal;
}

// Law: attention is causal where its mask compares positions or is a triangle, not with padding alone.
TEST(GraphShapeTest, MasksSayWhatTokensSee) {
  EXPECT_FALSE(IsCausalWith([](ModelGraph&) { return std::nullopt; }));
  EXPECT_FALSE(IsCausalWith([](ModelGraph& graph) { return graph.Padding(); }));
  EXPECT_FALSE(IsCausalWith([](ModelGraph& graph) { return graph.Square(0); }));
  EXPECT_TRUE(IsCausalWith([](ModelGraph& graph) { return graph.Square(-1e9f); }));
  EXPECT_TRUE(IsCausalWith([](ModelGraph& graph) { return graph.Later(); }));
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

// A network of width 64 is as wide as queries, keys and values of two heads would be in one matrix: 32 + 2
// * 16.
TEST(GraphShapeTest, NetworkAsWideAsQueriesKeysAndValues) {
  ModelGraph graph;
  graph.Embed();
  for (int layer = 0; layer < 2; ++layer)
    graph.Layer(layer, {{32, 24}, {16, 24}, {16, 24}, {24, 32}, {64, 24}, {64, 24}, {24, 64}});
  graph.Attend();
  const ModelShape model = graph.Read();
  EXPECT_EQ(model.kv_heads, 2);
  EXPECT_EQ(model.ffn, 64);
  EXPECT_TRUE(model.gated);
}

const std::vector<Shape> kAttention = {{32, 24}, {16, 24}, {16, 24}, {24, 32}};

std::vector<Shape> AttentionAnd(const std::vector<Shape>& others) {
  std::vector<Shape> all = kAttention;
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

// Mixtral's: 6 experts of width 20, gate and value in one matrix, a router; two experts a token.
TEST(GraphShapeTest, ExpertsOfEveryLayer) {
  ModelGraph graph;
  graph.Embed();
  for (int layer = 0; layer < 2; ++layer)
    graph.Layer(layer, AttentionAnd({{6, 24}, {6, 40, 24}, {6, 24, 20}}));
  graph.Attend();
  graph.Route(6, 2);
  const ModelShape model = graph.Read();
  EXPECT_EQ(model.experts, 6);
  EXPECT_EQ(model.top_k, 2);
  EXPECT_EQ(model.expert_ffn, 20);
  EXPECT_EQ(model.shared_ffn, 0);
  EXPECT_EQ(model.dense_layers, 0);
  EXPECT_EQ(model.kv_heads, 2);
  EXPECT_TRUE(model.gated);
}

// Layer 0 of eleven has a network of width 56 instead; the others have one of width 12 that every token
// passes, with a gate of one number (Qwen2 MoE), and three matrices of each expert. Layer 10 is the last, not
// the third.
TEST(GraphShapeTest, DenseLayersAndSharedExperts) {
  ModelGraph graph;
  graph.Embed();
  graph.Layer(0, AttentionAnd({{56, 24}, {56, 24}, {24, 56}}));
  for (int layer = 1; layer < 11; ++layer) {
    graph.Layer(layer,
                AttentionAnd(
                    {{8, 24}, {8, 24, 20}, {8, 24, 20}, {8, 20, 24}, {1, 24}, {12, 24}, {12, 24}, {24, 12}}));
  }
  graph.Attend();
  graph.Route(8, 3);
  const ModelShape model = graph.Read();
  EXPECT_EQ(model.layers, 11);
  EXPECT_EQ(model.dense_layers, 1);
  EXPECT_EQ(model.ffn, 56);
  EXPECT_EQ(model.experts, 8);
  EXPECT_EQ(model.top_k, 3);
  EXPECT_EQ(model.expert_ffn, 20);
  EXPECT_EQ(model.shared_ffn, 12);
}

TEST(GraphShapeTest, OtherMixturesAreRefusedWithWhatIsMissing) {
  const auto refusal = [](const std::vector<Shape>& layer, bool routed) {
    ModelGraph graph;
    graph.Embed();
    graph.Layer(0, layer);
    graph.Attend();
    graph.Route(5, 1, "of_groups");
    if (routed) graph.Route(6, 2);
    return graph.Refusal();
  };
  EXPECT_THAT(refusal(AttentionAnd({{6, 24}, {6, 40, 24}, {6, 24, 20}}), false),
              HasSubstr("how many of its 6 experts a token passes is missing: it has no TopKV2"));
  EXPECT_THAT(refusal(AttentionAnd({{6, 40, 24}, {6, 24, 20}}), true),
              HasSubstr("beside its 6 experts are not those of attention with 4 heads, a router"));
  EXPECT_THAT(refusal(AttentionAnd({{6, 24}, {6, 40, 24}, {7, 24, 20}}), true),
              HasSubstr("has 6 experts and"));
  EXPECT_THAT(refusal(AttentionAnd({{6, 24}, {6, 40, 24}}), true), HasSubstr("are no feed-forward networks"));
  EXPECT_THAT(refusal(AttentionAnd({{6, 24}, {6, 40, 24}, {6, 24, 20}, {12, 24}, {24, 12}}), true),
              HasSubstr("and perhaps a feed-forward network"))
      << "experts have a gate, what every token passes has none";
  ModelGraph late;
  late.Embed();
  late.Layer(0, AttentionAnd({{6, 24}, {6, 40, 24}, {6, 24, 20}}));
  late.Layer(1, AttentionAnd({{56, 24}, {56, 24}, {24, 56}}));
  EXPECT_THAT(late.Refusal(), HasSubstr("layers 0 and 1 have other matrices"));
}

TEST(GraphShapeTest, OtherGraphsAreRefusedWithTheReason) {
  ModelGraph nothing;
  EXPECT_THAT(nothing.Refusal(), HasSubstr("model.pb is no model's shape: it gathers rows of no embedding"));
  ModelGraph images;
  images.Layer(0, {{24, 96}});
  EXPECT_THAT(images.Refusal(),
              HasSubstr("as models of images do not. A plan needs an embedding of tokens and "
                        "one stack of equal layers: name a .json file"));
  ModelGraph flat;
  flat.Embed();
  EXPECT_THAT(flat.Refusal(), HasSubstr("no layers under numbered scopes"));
  ModelGraph uneven;
  uneven.Embed();
  uneven.Layer(0, {{24, 96}});
  uneven.Layer(1, {{24, 80}});
  EXPECT_THAT(uneven.Refusal(), HasSubstr("layers 0 and 1 have other matrices"));
  ModelGraph convolution;
  convolution.Embed();
  convolution.Weight("h/0/w", Shape{8, 24, 3, 3});
  EXPECT_THAT(convolution.Refusal(), HasSubstr("'h/0/w' is neither a matrix nor one for each expert"));
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

// An encoder and a decoder are two stacks; a head of two matrices is none.
TEST(GraphShapeTest, SeveralStacksOfLayersAreRefusedByName) {
  const std::vector<Shape> layer = {{24, 96}, {32, 24}, {24, 80}, {80, 24}};
  ModelGraph two;
  two.Embed();
  two.Layer(0, layer);
  for (const char* name : {"a", "b", "c", "d"}) two.Weight(std::string("decoder/0/") + name, Shape{24, 32});
  two.Attend();
  EXPECT_THAT(two.Refusal(),
              HasSubstr("it has several stacks of layers, under 'decoder/', 'h/'. A plan needs"));
  ModelGraph one;
  one.Embed();
  one.Layer(0, layer);
  for (const char* name : {"a", "b"}) one.Weight(std::string("head/0/") + name, Shape{24, 32});
  one.Attend();
  EXPECT_EQ(one.Read().layers, 1);
}

}  // namespace
}  // namespace lanescope::sims::plans
