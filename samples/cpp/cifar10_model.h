// SPDX-License-Identifier: Apache-2.0
// The CIFAR-10 tutorial's network with one tower a GPU: variables and the average of the gradients are on the
// CPU. The graphs that TensorFlow writes (samples/graphs/cifar10_*.pbtxt), node for node.
#pragma once

#include <string>
#include <vector>

#include "graphs/ops.h"
#include "graphs/optimizer.h"
#include "graphs/parallel.h"

namespace samples {

namespace graphs = lanescope::graphs;
namespace op = lanescope::graphs::op;

struct Cifar10 {
  lanescope::Endpoint loss, train, init;
};

// Writes one such graph.
class Cifar10Writer {
  using Endpoint = lanescope::Endpoint;
  using Shape = lanescope::Shape;
  using Dim = lanescope::Dim;
  using Variable = lanescope::graphs::Variable;

 public:
  static constexpr int kTowerBatch = 128;

  Cifar10Writer(lanescope::graphs::Scope& scope, int towers) : s(scope), towers_(towers) {}

  Cifar10 Build() {
    s.SetRandomSeed(1);
    const auto cpu = s.Device("/cpu:0");
    const auto images = op::Placeholder(s, lanescope::DataType::kFloat,
                                        {.name = "images", .shape = {lanescope::kUnknownDim, 24, 24, 3}});
    const auto labels = op::Placeholder(s, lanescope::DataType::kInt32,
                                        {.name = "labels", .shape = {lanescope::kUnknownDim}});
    const auto& step =
        s.GetVariable("global_step", {}, {.initializer = graphs::Filled(0), .trainable = false});
    graphs::GradientDescentOptimizer optimizer(LearningRate(step));
    BuildTowers(optimizer, images, labels);
    Cifar10 result;
    const Endpoint update =
        optimizer.ApplyGradients(s, AverageGradients(s, gradients_), {.global_step = &step});
    Endpoint averages;
    {
      const auto after = s.ControlDependencies({update});
      averages = MovingAverages(op::Identity(s, step.ref, {.name = "read"}));
    }
    result.train = graphs::Group(s, {update, averages}, "train");
    const Endpoint sum = towers_ > 1 ? op::AddN(s, losses_) : losses_[0];
    result.loss = op::RealDiv(s, sum, static_cast<double>(towers_), {.name = "loss"});
    result.init = graphs::InitializeVariables(s);
    return result;
  }

 private:
  // 0.1, a tenth of it after every 350 epochs.
  Endpoint LearningRate(const Variable& step) {
    const int decay_steps = static_cast<int>(50000.0 / (kTowerBatch * towers_) * 350.0);
    const auto names = s.Name("ExponentialDecay");
    const std::string full = s.CurrentNames();
    const Endpoint first = op::Const(s, 0.1, {.name = "initial_learning_rate"});
    const Endpoint steps = op::Cast(s, decay_steps, lanescope::DataType::kFloat);
    const Endpoint factor = op::Const(s, 0.1, {.name = "Cast_1/x"});
    const Endpoint periods = op::Floor(s, op::RealDiv(s, step, steps, {.name = "truediv"}));
    return op::Mul(s, first, op::Pow(s, factor, periods), {.name = full});
  }

  void BuildTowers(graphs::Optimizer& optimizer, Endpoint images, Endpoint labels) {
    const auto parts_of = [&](Endpoint batch) {
      return towers_ > 1 ? SplitBatch(s, batch, towers_) : std::vector<Endpoint>{batch};
    };
    const auto image_parts = parts_of(images), label_parts = parts_of(labels);
    for (int i = 0; i < towers_; ++i) {
      const auto gpu = s.Device("/gpu:" + std::to_string(i));
      const auto tower = s.Name("tower_" + std::to_string(i));
      const auto reuse = s.ReuseVariables(i > 0);
      const auto part = static_cast<size_t>(i);
      losses_.push_back(TowerLoss(image_parts[part], label_parts[part]));
      gradients_.push_back(optimizer.ComputeGradients(s, losses_.back()));
    }
  }

  Endpoint TowerLoss(Endpoint images, Endpoint labels) {
    std::vector<Endpoint> losses;
    const Endpoint logits = Inference(images, losses);
    const Endpoint classes = op::Cast(s, labels, lanescope::DataType::kInt64);
    const Endpoint entropy = [&] {
      const auto names = s.Name("cross_entropy_per_example");
      return op::SparseSoftmaxCrossEntropyWithLogits(s, logits, classes,
                                                     {.name = "cross_entropy_per_example"})
          .loss;
    }();
    losses.push_back(op::Mean(s, entropy, op::Const(s, {0}), {.name = "cross_entropy"}));
    return op::AddN(s, losses, {.name = "total_loss"});
  }

  Endpoint Inference(Endpoint images, std::vector<Endpoint>& losses) {
    const Endpoint conv1 = Convolution(images, "conv1", {5, 5, 3, 64}, 0.0, 1);
    const Endpoint norm1 = Normalize(Pool(conv1, "pool1"), "norm1");
    const Endpoint conv2 = Convolution(norm1, "conv2", {5, 5, 64, 64}, 0.1, 2);
    const Endpoint pool2 = Pool(Normalize(conv2, "norm2"), "pool2");
    const Endpoint flat = op::Reshape(s, pool2, {-1, 6 * 6 * 64});
    const Endpoint local3 = Local(flat, "local3", 384, 3, losses);
    const Endpoint local4 = Local(local3, "local4", 192, 4, losses);
    const auto layer = s.VariableScope("softmax_linear");
    const Endpoint product = op::MatMul(s, local4, Weights({192, 10}, 1 / 192.0, 5));
    return op::AddV2(s, product, Biases(10, 0.0), {.name = "softmax_linear"});
  }

  const Variable& OnCpu(std::string_view name, const Shape& shape, const graphs::Initializer& initializer) {
    const auto cpu = s.Device("/cpu:0");
    return s.GetVariable(name, shape, {.initializer = initializer});
  }
  const Variable& Weights(const Shape& shape, double deviation, int seed) {
    return OnCpu("weights", shape, graphs::TruncatedNormal(0, deviation, seed));
  }
  const Variable& Biases(Dim size, double value) { return OnCpu("biases", {size}, graphs::Filled(value)); }

  Endpoint Convolution(Endpoint x, const std::string& name, const Shape& shape, double bias, int seed) {
    const auto layer = s.VariableScope(name);
    const Endpoint conv = op::Conv2D(s, x, Weights(shape, 5e-2, seed), {1, 1, 1, 1}, "SAME");
    return op::Relu(s, op::BiasAdd(s, conv, Biases(shape[3], bias)), {.name = name});
  }
  Endpoint Pool(Endpoint x, std::string_view name) {
    return op::MaxPool(s, x, {1, 3, 3, 1}, {1, 2, 2, 1}, "SAME", {.name = name});
  }
  Endpoint Normalize(Endpoint x, std::string_view name) {
    return op::LRN(s, x, {.name = name, .depth_radius = 4, .bias = 1, .alpha = 0.001f / 9, .beta = 0.75f});
  }
  // With weights that are kept small by a loss of their own.
  Endpoint Local(Endpoint x, const std::string& name, Dim units, int seed, std::vector<Endpoint>& losses) {
    const auto layer = s.VariableScope(name);
    const Variable& weights = Weights({s.ShapeOf(x)[1], units}, 0.04, seed);
    losses.push_back(op::Mul(s, op::L2Loss(s, weights), 0.004, {.name = "weight_loss"}));
    const Endpoint product = op::MatMul(s, x, weights);
    return op::Relu(s, op::AddV2(s, product, Biases(units, 0.1), {.name = "add"}), {.name = name});
  }

  // Copies of the variables that follow them slowly.
  Endpoint MovingAverages(Endpoint step) {
    const Endpoint more = op::AddV2(s, 1.0, step, {.name = "add"});
    const Endpoint ratio =
        op::RealDiv(s, more, op::AddV2(s, 10.0, step, {.name = "add"}), {.name = "truediv"});
    const Endpoint decay = op::Minimum(s, 0.9999, ratio);
    std::vector<Endpoint> updates;
    const std::vector<const Variable*> variables = s.variables();
    for (const Variable* variable : variables) {
      if (!variable->trainable) continue;
      const std::string name = variable->name + "/ExponentialMovingAverage";
      const Variable& shadow = s.NewVariable(variable->initial_value, {.name = name, .trainable = false});
      const Endpoint value = op::Identity(s, variable->ref, {.name = "read"});
      const auto names = s.Name("AssignMovingAvg");
      const std::string full = s.CurrentNames();
      const Endpoint rate = op::Sub(s, 1.0, decay, {.name = "sub"});
      const Endpoint difference = op::Sub(s, shadow, value, {.name = "sub"});
      updates.push_back(
          op::AssignSub(s, shadow.ref, op::Mul(s, difference, rate, {.name = "mul"}), {.name = full}));
    }
    return graphs::Group(s, updates, "ExponentialMovingAverage");
  }

  lanescope::graphs::Scope& s;
  const int towers_;
  std::vector<Endpoint> losses_;
  std::vector<std::vector<lanescope::graphs::GradientOf>> gradients_;
};

}  // namespace samples
