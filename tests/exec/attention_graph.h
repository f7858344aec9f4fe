// SPDX-License-Identifier: Apache-2.0
// Graphs of attention as PyTorch and TensorFlow write it, with gradients.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/inputs/run_spec.h"

namespace lanescope::exec::test {

struct AttentionSizes {
  int64_t batch, heads, queries, keys, depth, width;
};

// Attention in a graph of its own, with the gradients of queries, keys and values by what is fed for that of
// the result.
struct Attention {
  explicit Attention(const AttentionSizes& of, DataType of_type = DataType::kFloat)
      : sizes(of), dtype(of_type) {}

  Endpoint Feed(const std::string& name, const Shape& shape) {
    FeedSpec& made = spec.feeds[name];
    made.dtype = dtype;
    made.shape = shape;
    made.generator = "uniform";
    made.low = -1;
    return builder.Placeholder(name, dtype, shape);
  }
  Endpoint Op(const std::string& op, const std::string& name, const std::vector<Endpoint>& inputs) {
    auto node = builder.Op(op, name);
    for (const Endpoint& input : inputs) node.Input(input);
    return node.Build();
  }
  Endpoint Number(const std::string& name, double value) {
    if (dtype == DataType::kDouble) return builder.Const(name, Tensor::Scalar(value));
    return builder.Const(name, Tensor::Scalar(static_cast<float>(value)));
  }
  Endpoint Product(const std::string& name, Endpoint a, Endpoint b, bool turn_a, bool turn_b) {
    return builder.Op("BatchMatMulV2", name)
        .Input(a)
        .Input(b)
        .Attr("adj_x", turn_a)
        .Attr("adj_y", turn_b)
        .Build();
  }
  Endpoint Reduced(const std::string& op, const std::string& name, Endpoint x) {
    const Endpoint axis = builder.Const(name + "/axis", Tensor::FromValues<int32_t>(Shape{1}, {-1}));
    return builder.Op(op, name).Input(x).Input(axis).Attr("keep_dims", true).Build();
  }
  Endpoint Reshaped(const std::string& name, Endpoint x, const Shape& shape) {
    std::vector<int32_t> dims;
    for (int i = 0; i < shape.rank(); ++i) dims.push_back(static_cast<int32_t>(shape[i]));
    const Endpoint to = builder.Const(
        name + "/shape", Tensor::FromValues<int32_t>(Shape{static_cast<int64_t>(dims.size())}, dims));
    return Op("Reshape", name, {x, to});
  }
  Shape Heads(int64_t rows, int64_t columns) const { return Shape{sizes.batch, sizes.heads, rows, columns}; }
  Shape Flat(int64_t rows, int64_t columns) const { return Shape{sizes.batch * sizes.heads, rows, columns}; }

  // The gradient of the result: made of it, or fed. Then nothing lies between both passes, and all is one
  // launch.
  Endpoint Gradient(Endpoint result, const Shape& shape) {
    const Endpoint fed = Feed("dy", shape);
    return waits ? Op("Mul", "dy/made", {fed, result}) : fed;
  }

  // As PyTorch's export writes it: keys turned beforehand, scaled queries, a mask that is added, rows that
  // are masked as a whole give zeros, products of batches of one dimension.
  void OfTorch(bool backward) {
    const AttentionSizes& s = sizes;
    const Endpoint q = Feed("q", Flat(s.queries, s.depth)), k = Feed("k", Flat(s.depth, s.keys));
    const Endpoint v = Feed("v", Flat(s.keys, s.width)), mask = Feed("mask", Shape{s.queries, s.keys});
    const Endpoint scores =
        Reshaped("scores/heads", Product("scores", q, k, false, false), Heads(s.queries, s.keys));
    const Endpoint low = Number("low", -INFINITY), none = Number("none", 0);
    const Endpoint hidden = Op("Greater", "hidden", {mask, Number("half", 0.5)});
    const Endpoint added = Op("SelectV2", "added", {hidden, low, none});
    const Endpoint masked = Op("AddV2", "masked", {scores, added});
    const Endpoint empty = Op("Equal", "empty", {Reduced("Max", "most", masked), low});
    const Endpoint soft = Op("Softmax", "softmax", {masked});
    const Endpoint chosen = Op("SelectV2", "weights", {empty, none, soft});
    const Endpoint flat = Reshaped("weights/flat", chosen, Flat(s.queries, s.keys));
    const Endpoint result = Product("result", flat, v, false, false);
    Fetch(result);
    if (!backward) return;
    const Endpoint dy = Gradient(result, Flat(s.queries, s.width));
    Fetch(Product("dv", flat, dy, true, false));
    const Endpoint dweights =
        Reshaped("dweights/heads", Product("dweights", dy, v, false, true), Heads(s.queries, s.keys));
    const Endpoint both = Op("Mul", "both", {dweights, chosen});
    const Endpoint part = Op("Mul", "part", {chosen, Reduced("Sum", "sum", both)});
    const Endpoint dscores = Reshaped("dscores", Op("Sub", "dmasked", {both, part}), Flat(s.queries, s.keys));
    Fetch(Product("dk", q, dscores, true, false));
    Fetch(Product("dq", dscores, k, false, true));
  }

  // As TensorFlow's gradients write it, with the scale behind the product.
  void OfTensorFlow(bool backward) {
    const AttentionSizes& s = sizes;
    const Endpoint q = Feed("q", Heads(s.queries, s.depth)), k = Feed("k", Heads(s.keys, s.depth));
    const Endpoint v = Feed("v", Heads(s.keys, s.width)), scale = Number("scale", 0.3);
    const Endpoint scores = Op("Mul", "scaled", {Product("scores", q, k, false, true), scale});
    const Endpoint soft = Op("Softmax", "softmax", {scores});
    const Endpoint result = Product("result", soft, v, false, false);
    Fetch(result);
    if (!backward) return;
    const Endpoint dy = Gradient(result, Heads(s.queries, s.width));
    Fetch(Product("dv", soft, dy, true, false));
    const Endpoint dsoft = Product("dsoft", dy, v, false, true);
    const Endpoint sum = Reduced("Sum", "sum", Op("Mul", "both", {dsoft, soft}));
    const Endpoint dscaled = Op("Mul", "dscaled", {Op("Sub", "centred", {dsoft, sum}), soft});
    const Endpoint dscores = Op("Mul", "dscores", {dscaled, scale});
    Fetch(Product("dq", dscores, k, false, false));
    Fetch(Product("dk", dscores, q, true, false));
  }

  void Fetch(Endpoint endpoint) { spec.fetches.push_back(builder.graph().TensorName(endpoint)); }

  AttentionSizes sizes;
  DataType dtype;
  bool waits = true;
  GraphBuilder builder;
  RunSpec spec;
};

}  // namespace lanescope::exec::test
