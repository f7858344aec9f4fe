// SPDX-License-Identifier: Apache-2.0
#include "bench/accuracy/networks.h"

#include <fmt/core.h>

#include <functional>
#include <map>
#include <random>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/graph/graph_io.h"
#include "graphs/ops.h"
#include "graphs/optimizer.h"
#include "graphs/scope.h"

namespace lanescope::accuracy {
namespace {

namespace op = graphs::op;
using graphs::Scope;

constexpr int kClasses = 10;

// A feed of uniform numbers, and one of class numbers.
struct Batch {
  Endpoint images, labels;
  std::vector<int64_t> shape;
};

Batch FeedBatch(Scope& s, const std::vector<int64_t>& shape) {
  return {op::Placeholder(s, DataType::kFloat, {.name = "images", .shape = Shape(shape)}),
          op::Placeholder(s, DataType::kInt32, {.name = "labels", .shape = Shape({shape[0]})}), shape};
}

Endpoint Dense(Scope& s, const std::string& name, Endpoint x, int64_t in, int64_t out) {
  const auto names = s.VariableScope(name);
  const auto& w = s.GetVariable("w", {in, out}, {.initializer = graphs::GlorotUniform(3)});
  const auto& b = s.GetVariable("b", {out}, {.initializer = graphs::Zeros()});
  return op::BiasAdd(s, op::MatMul(s, x, w), b);
}

// The loss, one step of gradient descent on it, and the run configuration.
std::string Train(Scope& s, const Batch& batch, Endpoint logits) {
  const auto losses = op::SparseSoftmaxCrossEntropyWithLogits(s, logits, batch.labels);
  const Endpoint loss = op::Mean(s, losses.loss, {0}, {.name = "loss"});
  graphs::GradientDescentOptimizer(0.01).Minimize(s, loss, {.name = "train"});
  graphs::InitializeVariables(s);
  std::string shape;
  for (const int64_t size : batch.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", size);
  return fmt::format(
      R"({{"init": ["init"], "feeds": {{
  "images": {{"dtype": "float32", "shape": [{}], "generator": "uniform", "low": -1.0, "high": 1.0, "seed": 1}},
  "labels": {{"dtype": "int32", "shape": [{}], "generator": "integers", "low": 0, "high": {}, "seed": 2}}}},
 "fetches": ["loss:0"], "targets": ["train"]}}
)",
      shape, batch.shape[0], kClasses);
}

std::string Mlp(Scope& s) {
  const Batch batch = FeedBatch(s, {64, 256});
  Endpoint x = batch.images;
  int64_t width = 256;
  for (int layer = 0; layer < 4; ++layer) {
    x = op::Relu(s, Dense(s, fmt::format("layer{}", layer), x, width, 384));
    width = 384;
  }
  return Train(s, batch, Dense(s, "logits", x, width, kClasses));
}

Endpoint Convolution(Scope& s, const std::string& name, Endpoint x, int64_t size, int64_t in, int64_t out) {
  const auto names = s.VariableScope(name);
  const auto& w = s.GetVariable("w", {size, size, in, out}, {.initializer = graphs::GlorotUniform(5)});
  const auto& b = s.GetVariable("b", {out}, {.initializer = graphs::Zeros()});
  return op::Relu(s, op::BiasAdd(s, op::Conv2D(s, x, w, {1, 1, 1, 1}, "SAME"), b));
}

// Four branches of different lengths from one tensor, joined again: as Inception's blocks.
Endpoint Block(Scope& s, const std::string& name, Endpoint x, int64_t in) {
  const auto names = s.VariableScope(name);
  const Endpoint one = Convolution(s, "one", x, 1, in, 16);
  const Endpoint three = Convolution(s, "three", Convolution(s, "three_in", x, 1, in, 16), 3, 16, 24);
  const Endpoint five = Convolution(s, "five", Convolution(s, "five_in", x, 1, in, 8), 5, 8, 12);
  const Endpoint pooled =
      Convolution(s, "pooled", op::MaxPool(s, x, {1, 3, 3, 1}, {1, 1, 1, 1}, "SAME"), 1, in, 12);
  return op::ConcatV2(s, std::vector<Endpoint>{one, three, five, pooled}, 3);
}

std::string Branches(Scope& s) {
  const Batch batch = FeedBatch(s, {8, 16, 16, 16});
  Endpoint x = Block(s, "block0", batch.images, 16);
  x = Block(s, "block1", x, 64);
  x = op::Mean(s, x, {1, 2});
  return Train(s, batch, Dense(s, "logits", x, 64, kClasses));
}

// A recurrent layer of two stacked cells, each time step nodes of its own.
std::string Lstm(Scope& s) {
  constexpr int kTime = 8, kUnits = 64, kBatch = 32;
  const Batch batch = FeedBatch(s, {kBatch, kTime, kUnits});
  std::vector<Endpoint> inputs = op::Unpack(s, batch.images, kTime, {.axis = 1});
  for (int layer = 0; layer < 2; ++layer) {
    const auto names = s.VariableScope(fmt::format("cell{}", layer));
    const auto& w = s.GetVariable("w", {2 * kUnits, 4 * kUnits}, {.initializer = graphs::GlorotUniform(7)});
    const auto& b = s.GetVariable("b", {4 * kUnits}, {.initializer = graphs::Zeros()});
    Endpoint state, output;
    for (int t = 0; t < kTime; ++t) {
      Endpoint& input = inputs[static_cast<size_t>(t)];
      const Endpoint before = t == 0 ? op::ZerosLike(s, input) : output;
      const Endpoint joined = op::ConcatV2(s, std::vector<Endpoint>{input, before}, 1);
      const auto gates = op::Split(s, 1, op::BiasAdd(s, op::MatMul(s, joined, w), b), 4);
      const Endpoint fresh = op::Mul(s, op::Sigmoid(s, gates[0]), op::Tanh(s, gates[1]));
      state = t == 0 ? fresh : op::AddV2(s, op::Mul(s, op::Sigmoid(s, gates[2]), state), fresh);
      output = op::Mul(s, op::Sigmoid(s, gates[3]), op::Tanh(s, state));
      input = output;
    }
  }
  return Train(s, batch, Dense(s, "logits", inputs.back(), kUnits, kClasses));
}

// One block of attention and a feed-forward layer, trained.
std::string Transformer(Scope& s) {
  constexpr int64_t kBatch = 8, kLength = 32, kWidth = 64, kHeads = 4, kHead = kWidth / kHeads;
  const Batch batch = FeedBatch(s, {kBatch, kLength, kWidth});
  const auto flat = [&](Endpoint x) { return op::Reshape(s, x, {kBatch * kLength, kWidth}); };
  const auto heads = [&](const std::string& name) {
    const Endpoint x = Dense(s, name, flat(batch.images), kWidth, kWidth);
    return op::Transpose(s, op::Reshape(s, x, {kBatch, kLength, kHeads, kHead}), {0, 2, 1, 3});
  };
  const Endpoint query = heads("query"), key = heads("key"), value = heads("value");
  const Endpoint scores = op::Mul(s, op::BatchMatMulV2(s, query, key, {.adj_y = true}), 0.25);
  const Endpoint mixed = op::BatchMatMulV2(s, op::Softmax(s, scores), value);
  const Endpoint joined = op::Reshape(s, op::Transpose(s, mixed, {0, 2, 1, 3}), {kBatch * kLength, kWidth});
  Endpoint x = op::AddV2(s, Dense(s, "out", joined, kWidth, kWidth), flat(batch.images));
  const Endpoint inner = op::Relu(s, Dense(s, "up", x, kWidth, 4 * kWidth));
  x = op::AddV2(s, Dense(s, "down", inner, 4 * kWidth, kWidth), x);
  x = op::Mean(s, op::Reshape(s, x, {kBatch, kLength, kWidth}), {1});
  return Train(s, batch, Dense(s, "logits", x, kWidth, kClasses));
}

// Ops on square matrices whose inputs are drawn among the last results.
std::string RandomDag(Scope& s, unsigned seed) {
  constexpr int64_t kSide = 160;
  constexpr size_t kOps = 70, kWindow = 9;
  std::mt19937 random(seed);
  const Endpoint fed = op::Placeholder(s, DataType::kFloat, {.name = "x", .shape = {kSide, kSide}});
  std::vector<Endpoint> values = {fed, op::Tanh(s, fed), op::Mul(s, fed, 0.5)};
  const auto draw = [&] { return values[values.size() - 1 - random() % std::min(values.size(), kWindow)]; };
  while (values.size() < kOps) {
    switch (random() % 5) {
      case 0:
      case 1:
        values.push_back(op::Tanh(s, op::MatMul(s, draw(), draw())));
        break;
      case 2:
        values.push_back(op::Sub(s, draw(), draw()));
        break;
      case 3:
        values.push_back(op::Maximum(s, draw(), draw()));
        break;
      default:
        values.push_back(op::Sigmoid(s, draw()));
    }
  }
  op::AddN(s, std::vector<Endpoint>(values.end() - static_cast<ptrdiff_t>(kWindow), values.end()),
           {.name = "sum"});
  return fmt::format(
      R"({{"feeds": {{"x": {{"dtype": "float32", "shape": [{0}, {0}], "generator": "uniform", "low": -1.0,
  "high": 1.0, "seed": 1}}}}, "fetches": ["sum:0"]}}
)",
      kSide);
}

// Each writes a graph and returns its run configuration.
const std::map<std::string, std::function<std::string(Scope&)>>& Makers() {
  static const std::map<std::string, std::function<std::string(Scope&)>> makers = {
      {"mlp", Mlp},
      {"branches", Branches},
      {"lstm", Lstm},
      {"transformer", Transformer},
      {"random1", [](Scope& s) { return RandomDag(s, 1); }},
      {"random2", [](Scope& s) { return RandomDag(s, 2); }}};
  return makers;
}

}  // namespace

std::vector<std::string> NetworkNames() {
  std::vector<std::string> names;
  for (const auto& [name, make] : Makers()) names.push_back(name);
  return names;
}

std::string WriteNetwork(const std::string& name, const std::string& folder) {
  const auto maker = Makers().find(name);
  if (maker == Makers().end()) Throw(Code::kNotFound, "there is no network {}", name);
  Scope scope;
  const std::string configuration = maker->second(scope);
  const std::string base = folder + "/" + name;
  WriteGraph(scope.graph(), base + ".pbtxt");
  WriteFile(base + ".run.json", configuration);
  return base + ".pbtxt";
}

}  // namespace lanescope::accuracy
