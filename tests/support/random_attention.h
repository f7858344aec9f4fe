// SPDX-License-Identifier: Apache-2.0
// Random launches with products: matrices that one or two products make, a chain of scales, masks, softmax
// and sums over them, and products that read what comes of it in any of the four forms.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"

namespace lanescope::test {

class RandomAttention {
 public:
  RandomAttention(unsigned seed, DataType dtype, int64_t most_tokens)
      : rng_(seed * 2654435761u + 7), dtype_(dtype) {
    for (int d = static_cast<int>(Random(3)); d > 0; --d) batch_.Append(1 + Random(3));
    queries_ = 1 + Random(most_tokens);
    keys_ = 2 + Random(most_tokens);
    matrices_.push_back(Made("made0"));
    if (Random(3) == 0) matrices_.push_back(Made("made1"));
    for (int i = 2 + static_cast<int>(Random(8)); i > 0; --i) Extend("op" + std::to_string(i));
    if (Random(2) == 0) matrices_.push_back(Op("Softmax", "last", {Any()}));
    for (int i = 1 + static_cast<int>(Random(3)); i > 0; --i) Read("read" + std::to_string(i), Any());
    if (Random(4) == 0) Fetch(Any());
    graph_ = builder_.Take();
  }

  const Graph& graph() const { return graph_; }
  const std::map<std::string, Tensor>& feeds() const { return feeds_; }
  const std::vector<std::string>& fetches() const { return fetches_; }

 private:
  int64_t Random(int64_t n) { return static_cast<int64_t>(rng_() % static_cast<uint64_t>(n)); }
  Endpoint Any() {
    return matrices_[matrices_.size() - 1 -
                     static_cast<size_t>(
                         Random(std::min<int64_t>(3, static_cast<int64_t>(matrices_.size()))))];
  }
  Shape Of(int64_t rows, int64_t columns) const {
    Shape shape = batch_;
    shape.Append(rows);
    shape.Append(columns);
    return shape;
  }
  Endpoint Op(const std::string& op, const std::string& name, const std::vector<Endpoint>& inputs) {
    auto node = builder_.Op(op, name);
    for (const Endpoint& input : inputs) node.Input(input);
    return node.Build();
  }
  template <typename T>
  void Fill(Tensor* tensor) {
    for (int64_t i = 0; i < tensor->NumElements(); ++i)
      tensor->data<T>()[i] = static_cast<T>(static_cast<double>(Random(2001) - 1000) / 1000.0);
  }
  Endpoint Feed(const std::string& name, const Shape& shape) {
    Tensor tensor(dtype_, shape);
    dtype_ == DataType::kDouble ? Fill<double>(&tensor) : Fill<float>(&tensor);
    feeds_[name + ":0"] = tensor;
    return builder_.Placeholder(name, dtype_, shape);
  }
  Endpoint Product(const std::string& name, Endpoint a, Endpoint b, bool turn_a, bool turn_b) {
    static const char* const kOps[] = {"BatchMatMul", "BatchMatMulV2"};
    return builder_.Op(kOps[Random(2)], name)
        .Input(a)
        .Input(b)
        .Attr("adj_x", turn_a)
        .Attr("adj_y", turn_b)
        .Build();
  }
  int64_t Depth() { return Random(3) == 0 ? 1 + Random(3) : 4 + Random(60); }

  Endpoint Made(const std::string& name) {
    const int64_t depth = Depth();
    const bool turn_a = Random(2) == 0, turn_b = Random(2) == 0;
    const Endpoint a = Feed(name + "/a", turn_a ? Of(depth, queries_) : Of(queries_, depth));
    const Endpoint b = Feed(name + "/b", turn_b ? Of(keys_, depth) : Of(depth, keys_));
    return Product(name, a, b, turn_a, turn_b);
  }

  // A mask or a factor: of each element, or broadcast over some dimensions.
  Endpoint Other(const std::string& name) {
    Shape shape = Of(queries_, keys_);
    for (int d = 0; d < shape.rank(); ++d) {
      if (Random(2) == 0) shape.set_dim(d, 1);
    }
    while (shape.rank() > 0 && shape[0] == 1 && Random(2) == 0) shape.Erase(0);
    return Feed(name, shape);
  }
  Endpoint Number(const std::string& name, double value) {
    if (dtype_ == DataType::kDouble) return builder_.Const(name, Tensor::Scalar(value));
    return builder_.Const(name, Tensor::Scalar(static_cast<float>(value)));
  }

  void Extend(const std::string& name) {
    const Endpoint x = Any();
    switch (Random(8)) {
      case 0:
      case 1:
        return matrices_.push_back(Op(Random(4) == 0 ? "LogSoftmax" : "Softmax", name, {x}));
      case 2:
        return matrices_.push_back(Op("Mul", name, {x, Other(name + "/by")}));
      case 3:
        return matrices_.push_back(Op("AddV2", name, {x, Other(name + "/by")}));
      case 4: {
        const Endpoint hidden =
            Op("Greater", name + "/hidden", {Other(name + "/mask"), Number(name + "/half", 0.5)});
        const Endpoint low = Number(name + "/low", Random(3) == 0 ? -INFINITY : Random(2) == 0 ? -1e9 : 0);
        return matrices_.push_back(Op("SelectV2", name, {hidden, low, x}));
      }
      case 5: {
        static const char* const kOps[] = {"Sum", "Max", "Mean"};
        const Endpoint axis = builder_.Const(name + "/axis", Tensor::FromValues<int32_t>(Shape{1}, {-1}));
        const Endpoint row =
            builder_.Op(kOps[Random(3)], name + "/row").Input(x).Input(axis).Attr("keep_dims", true).Build();
        if (Random(3) == 0) Fetch(row);
        return matrices_.push_back(Op("Sub", name, {Any(), row}));
      }
      case 6:
        return matrices_.push_back(Op("Mul", name, {x, Any()}));
      default:
        return matrices_.push_back(Op(Random(2) == 0 ? "Tanh" : "Sigmoid", name, {x}));
    }
  }

  void Read(const std::string& name, Endpoint x) {
    const int64_t width = Depth();
    const bool first = Random(2) == 0, turn_x = Random(2) == 0, turn_other = Random(2) == 0;
    const int64_t rows = turn_x ? keys_ : queries_, columns = turn_x ? queries_ : keys_;
    const int64_t shared = first ? columns : rows;
    const bool tall = first != turn_other;  // the other factor's rows are the shared ones
    const Endpoint other = Feed(name + "/other", tall ? Of(shared, width) : Of(width, shared));
    Fetch(first ? Product(name, x, other, turn_x, turn_other) : Product(name, other, x, turn_other, turn_x));
  }

  void Fetch(Endpoint endpoint) {
    const std::string name = builder_.graph().TensorName(endpoint);
    if (std::find(fetches_.begin(), fetches_.end(), name) == fetches_.end()) fetches_.push_back(name);
  }

  std::mt19937 rng_;
  const DataType dtype_;
  GraphBuilder builder_;
  Graph graph_;
  Shape batch_;
  int64_t queries_ = 0, keys_ = 0;
  std::vector<Endpoint> matrices_;  // of scores and what is made of them
  std::map<std::string, Tensor> feeds_;
  std::vector<std::string> fetches_;
};

}  // namespace lanescope::test
