// SPDX-License-Identifier: Apache-2.0
// DeepCoNN: a tower over the reviews of a user and one over those of an item, joined by a dot product. The
// layers and names are those of samples/graphs/deepconn_*.pbtxt, so that their run configurations fit.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "graphs/ops.h"
#include "graphs/optimizer.h"

namespace samples {

namespace graphs = lanescope::graphs;
namespace op = lanescope::graphs::op;

struct DeepConn {
  lanescope::Endpoint loss, train, init, init_tables;
};

// The device of each stage of a tower; "" is none.
struct TowerDevices {
  std::string_view lookup, embedding, convolution, pool, flatten, dense;
};

struct DeepConnPlacement {
  const char* name;
  TowerDevices user, item;
};

// On one device, a tower a GPU, and every stage on the other GPU than the stage before it.
inline constexpr std::array<DeepConnPlacement, 3> kDeepConnPlacements = {{
    {"single", {}, {}},
    {"dual",
     {"/gpu:0", "/gpu:0", "/gpu:0", "/gpu:0", "/gpu:0", "/gpu:0"},
     {"/gpu:1", "/gpu:1", "/gpu:1", "/gpu:1", "/gpu:1", "/gpu:1"}},
    {"alternating",
     {"/gpu:1", "/gpu:0", "/gpu:1", "/gpu:0", "/gpu:1", "/gpu:0"},
     {"/gpu:0", "/gpu:1", "/gpu:0", "/gpu:1", "/gpu:0", "/gpu:1"}},
}};

// Writes one such graph.
class DeepConnWriter {
  using Endpoint = lanescope::Endpoint;
  using DataType = lanescope::DataType;

 public:
  static constexpr int kWords = 800, kVocabulary = 90000, kEmbedding = 50, kFilters = 10, kKernel = 3,
                       kDense = 64;

  explicit DeepConnWriter(lanescope::graphs::Scope& scope) : s(scope) {}

  DeepConn Build(const DeepConnPlacement& placement, bool colocate_gradients) {
    s.SetRandomSeed(1);
    const Endpoint user_reviews = Reviews("user_reviews"), item_reviews = Reviews("item_reviews");
    const Endpoint labels =
        op::Placeholder(s, DataType::kFloat, {.name = "labels", .shape = {lanescope::kUnknownDim, 1}});
    DeepConn result;
    {
      const auto cpu = s.Device("/cpu:0");
      result.init_tables = WordTable();
    }
    embeddings_ = &s.GetVariable("word_embeddings", {kVocabulary, kEmbedding},
                                 {.initializer = graphs::RandomUniform(-1, 1, 5)});
    const Endpoint user = Tower(user_reviews, 0, placement.user);
    const Endpoint item = Tower(item_reviews, 1, placement.item);
    const Endpoint predictions =
        op::Sum(s, op::Mul(s, user, item), {1}, {.name = "predictions", .keep_dims = true});
    {
      const auto names = s.Name("mean_squared_error");
      result.loss = op::Mean(s, op::SquaredDifference(s, predictions, labels), {0, 1}, {.name = "value"});
    }
    const auto& step = s.GetVariable(
        "global_step", {}, {.dtype = DataType::kInt64, .initializer = graphs::Zeros(), .trainable = false});
    result.train = graphs::AdamOptimizer(1e-4).Minimize(
        s, result.loss,
        {.colocate_gradients_with_ops = colocate_gradients, .global_step = &step, .name = "train"});
    result.init = graphs::InitializeVariables(s);
    return result;
  }

 private:
  Endpoint Reviews(std::string_view name) {
    return op::Placeholder(s, DataType::kString, {.name = name, .shape = {lanescope::kUnknownDim, kWords}});
  }

  // From words to their row: "0" to 0, "1" to 1, and so on; all others to 0.
  Endpoint WordTable() {
    const auto names = s.Name("string_to_index");
    const Endpoint rows = op::Range(s, 0, kVocabulary, 1);
    const Endpoint words = op::AsString(s, rows);
    missing_ = op::Const(s, lanescope::Tensor::Scalar(int64_t{0}));
    table_ = op::HashTableV2(s, DataType::kString, DataType::kInt64, {.name = "hash_table"});
    const Endpoint fill = op::LookupTableImportV2(s, table_, words, op::Cast(s, rows, DataType::kInt64));
    const auto root = s.Name("");
    return graphs::Group(s, {fill}, "init_all_tables");
  }

  Endpoint Tower(Endpoint reviews, int tower, const TowerDevices& on) {
    const Endpoint ids = On(on.lookup, [&] { return op::LookupTableFindV2(s, table_, reviews, missing_); });
    const Endpoint vectors = On(on.embedding, [&] {
      const auto beside = s.ColocateWith(embeddings_->ref);
      return op::GatherV2(s, *embeddings_, ids, 0, {.name = "embedding_lookup"});
    });
    const Endpoint conv = On(on.convolution, [&] {
      return Convolution(vectors, tower == 0 ? "user_conv" : "item_conv", 11 + tower);
    });
    const Endpoint pooled = On(on.pool, [&] { return Pool(conv); });
    const Endpoint flat = On(on.flatten, [&] { return Flatten(pooled); });
    return On(on.dense, [&] { return Dense(flat, tower == 0 ? "dense" : "dense_1", 21 + tower); });
  }

  template <typename Write>
  Endpoint On(std::string_view device, Write write) {
    const auto on = s.Device(device);
    return write();
  }

  Endpoint Convolution(Endpoint x, std::string_view name, int seed) {
    const auto layer = s.VariableScope(name);
    const auto& kernel = s.GetVariable("kernel", {kKernel, kEmbedding, kFilters},
                                       {.initializer = graphs::GlorotUniform(seed)});
    const auto& bias = s.GetVariable("bias", {kFilters}, {.initializer = graphs::Zeros()});
    const Endpoint convolved = [&] {
      const auto names = s.Name("conv1d");
      const Endpoint image = op::ExpandDims(s, x, 1);
      const Endpoint product = op::Conv2D(s, image, op::ExpandDims(s, kernel, 0), {1, 1, 1, 1}, "VALID");
      return op::Squeeze(s, product, {.squeeze_dims = {1}});
    }();
    return op::Tanh(s, op::BiasAdd(s, convolved, bias));
  }

  Endpoint Pool(Endpoint x) {
    const auto names = s.Name("max_pooling1d");
    const Endpoint pooled = op::MaxPool(s, op::ExpandDims(s, x, 2), {1, 2, 1, 1}, {1, 1, 1, 1}, "VALID");
    return op::Squeeze(s, pooled, {.squeeze_dims = {2}});
  }

  Endpoint Flatten(Endpoint x) {
    const auto names = s.Name("flatten");
    const lanescope::Shape& shape = s.ShapeOf(x);
    return op::Reshape(s, x, {lanescope::Dim{-1}, shape[1] * shape[2]});
  }

  Endpoint Dense(Endpoint x, std::string_view name, int seed) {
    const auto layer = s.VariableScope(name);
    const auto& kernel =
        s.GetVariable("kernel", {s.ShapeOf(x)[1], kDense}, {.initializer = graphs::GlorotUniform(seed)});
    const auto& bias = s.GetVariable("bias", {kDense}, {.initializer = graphs::Zeros()});
    return op::Relu(s, op::BiasAdd(s, op::MatMul(s, x, kernel), bias));
  }

  lanescope::graphs::Scope& s;
  Endpoint table_, missing_;
  const lanescope::graphs::Variable* embeddings_ = nullptr;
};

}  // namespace samples
