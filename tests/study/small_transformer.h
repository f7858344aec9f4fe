// SPDX-License-Identifier: Apache-2.0
// A small transformer for tests of strategies that share tokens and matrices.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "graphs/ops.h"
#include "graphs/optimizer.h"
#include "study/workload/workload.h"

namespace lanescope::study {

namespace op = graphs::op;
using graphs::Scope;

// A transformer with RMS norms, causal attention and a loss over all words. `tokens`: of a sequence.
class Transformer {
 public:
  static constexpr int64_t kBatch = 16, kHeads = 4, kHeadSize = 2, kColumns = kHeads * kHeadSize, kWords = 12;
  enum class Mask : uint8_t {
    kCausal,
    kStrict,  // hides a token's own place, too: the first sees nothing
    kCapped,  // causal, and then all scores are brought between -3 and 3
    kFed,
    kNone
  };

  explicit Transformer(int64_t tokens, int layers = 1, Mask mask = Mask::kCausal)
      : tokens_(tokens), kind_(mask) {
    const Endpoint ids = Words("ids"), labels = Words("labels");
    Endpoint x = op::GatherV2(s_, Weight("table", Shape{kWords, kColumns}), ids, 0);
    const Endpoint places = Weight("places", Shape{tokens_, kColumns});
    x = op::AddV2(s_, x, places);
    for (int layer = 0; layer < layers; ++layer) {
      layer_ = "h" + std::to_string(layer) + "_";
      x = op::AddV2(s_, x, Attention(Norm("norm_1", x)));
      x = op::AddV2(s_, x, Perceptron(Norm("norm_2", x)));
    }
    const Endpoint logits = Product(Norm("norm", x), "head", kColumns, kWords);
    const Endpoint logs = op::LogSoftmax(s_, op::Reshape(s_, logits, {-1, int(kWords)}));
    const Endpoint hot = op::OneHot(s_, op::Reshape(s_, labels, {-1}), int(kWords), 1.0f, 0.0f);
    const Endpoint chosen = op::Sum(s_, op::Mul(s_, logs, hot), {1});
    const Endpoint loss = op::Mul(s_, op::Mean(s_, chosen, {0}), -1.0f);
    graphs::GradientDescentOptimizer descent(0.1f);
    const Endpoint step = descent.Minimize(s_, loss);
    const Endpoint init = graphs::InitializeVariables(s_);
    spec_.loss = s_.graph().TensorName(loss);
    spec_.fetches = {spec_.loss};
    spec_.targets = {s_.graph().node(step.node).name};
    spec_.init = {s_.graph().node(init.node).name};
  }
  Workload Take() { return {"model", s_.Take(), spec_}; }

 private:
  Endpoint Words(const std::string& name) {
    FeedSpec& feed = spec_.feeds[name];
    feed.dtype = DataType::kInt32;
    feed.shape = Shape{kBatch, tokens_};
    feed.generator = "integers";
    feed.high = kWords - 1;
    spec_.batch_axis[name] = 0;
    return op::Placeholder(s_, DataType::kInt32, {.name = name, .shape = {kUnknownDim, tokens_}});
  }
  Endpoint Weight(const std::string& name, const Shape& shape) {
    std::vector<float> values(static_cast<size_t>(shape.NumElements()));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = 0.4f * std::sin(static_cast<float>(7 * i + name.size()));
    return s_.NewVariable(Tensor::FromValues(shape, values), {.name = layer_ + name}).value;
  }
  Endpoint Product(Endpoint x, const std::string& name, int64_t rows, int64_t columns) {
    const Endpoint flat = op::Reshape(s_, x, {-1, int(rows)});
    const Endpoint y = op::MatMul(s_, flat, Weight(name, Shape{rows, columns}));
    return op::Reshape(s_, y, {-1, int(tokens_), int(columns)});
  }
  Endpoint Norm(const std::string& name, Endpoint x) {
    const Endpoint squares = op::Mean(s_, op::Square(s_, x), {2}, {.keep_dims = true});
    const Endpoint unit = op::Mul(s_, x, op::Rsqrt(s_, op::AddV2(s_, squares, 1e-5f)));
    return op::Mul(s_, unit, Weight(name, Shape{kColumns}));
  }
  Endpoint InHeads(Endpoint x, const std::string& name) {
    const Endpoint y = Product(x, name, kColumns, kColumns);
    const Endpoint heads = op::Reshape(s_, y, {-1, int(tokens_), int(kHeads), int(kHeadSize)});
    return op::Transpose(s_, heads, {0, 2, 1, 3});
  }
  Endpoint Attention(Endpoint x) {
    const Endpoint q = InHeads(x, "q"), k = InHeads(x, "keys"), v = InHeads(x, "values");
    const Endpoint scores = op::BatchMatMulV2(s_, q, k, {.adj_y = true});
    Endpoint seen = scores;
    if (kind_ != Mask::kNone) seen = op::AddV2(s_, scores, kind_ == Mask::kFed ? FedMask() : CausalMask());
    if (kind_ == Mask::kCapped) {
      const Endpoint three = s_.Constant(Tensor::Scalar(3.0f), "three");
      seen = op::Mul(s_, op::Tanh(s_, op::RealDiv(s_, seen, three)), three);
    }
    const Endpoint heads = op::BatchMatMulV2(s_, op::Softmax(s_, seen), v);
    const Endpoint turned = op::Transpose(s_, heads, {0, 2, 1, 3});
    return Product(op::Reshape(s_, turned, {-1, int(tokens_), int(kColumns)}), "out", kColumns, kColumns);
  }
  // No token sees a later one.
  Endpoint CausalMask() {
    std::vector<float> mask(static_cast<size_t>(tokens_ * tokens_));
    for (int64_t row = 0; row < tokens_; ++row)
      for (int64_t column = row + (kind_ == Mask::kStrict ? 0 : 1); column < tokens_; ++column)
        mask[static_cast<size_t>(row * tokens_ + column)] = -1e9f;
    return s_.Constant(Tensor::FromValues(Shape{tokens_, tokens_}, mask), "mask");
  }
  Endpoint FedMask() {
    if (fed_mask_.node.exists()) return fed_mask_;
    FeedSpec& feed = spec_.feeds["mask"];
    feed.shape = Shape{tokens_, tokens_};
    feed.generator = "uniform";
    return fed_mask_ = op::Placeholder(s_, DataType::kFloat, {.name = "mask", .shape = {tokens_, tokens_}});
  }
  Endpoint Perceptron(Endpoint x) {
    return Product(op::Relu(s_, Product(x, "up", kColumns, 4 * kColumns)), "down", 4 * kColumns, kColumns);
  }

  const int64_t tokens_;
  const Mask kind_;
  Endpoint fed_mask_;
  std::string layer_;
  Scope s_;
  RunSpec spec_;
};

}  // namespace lanescope::study
