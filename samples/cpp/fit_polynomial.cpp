// A polynomial of second degree fitted to samples of 5 x^2 + 3, on one GPU and with the batch cut over two.
#include <graph_run.h>

#include <random>

#include "graphs/ops.h"
#include "graphs/optimizer.h"

namespace op = lanescope::graphs::op;
using lanescope::DataType;
using lanescope::Endpoint;
using lanescope::Shape;
using lanescope::Tensor;
using lanescope::graphs::DeviceSpec;
using lanescope::graphs::Scope;

namespace {

constexpr int kBatch = 100;

Endpoint Model(Scope& s, Endpoint x, Endpoint y) {
  const auto& w = s.GetVariable("w", {3, 1}, {.initializer = lanescope::graphs::GlorotUniform(3)});
  const Endpoint f = op::Pack(s, {op::Square(s, x), x, op::OnesLike(s, x)}, {.axis = 1});
  const Endpoint yhat = op::Squeeze(s, op::MatMul(s, f, w), {.squeeze_dims = {1}});
  return op::Square(s, op::Sub(s, yhat, y));
}

// Every tower its part of the batch, all of them the same variables.
Endpoint MakeParallel(Scope& s, int gpus, Endpoint x, Endpoint y) {
  const auto xs = op::Split(s, 0, x, gpus), ys = op::Split(s, 0, y, gpus);
  std::vector<Endpoint> outputs;
  for (int i = 0; i < gpus; ++i) {
    const auto on = s.Device(DeviceSpec{.type = "GPU", .index = i});
    const auto reuse = s.ReuseVariables(i > 0);
    outputs.push_back(Model(s, xs[static_cast<size_t>(i)], ys[static_cast<size_t>(i)]));
  }
  return op::ConcatV2(s, outputs, 0);
}

void Fit(bool parallel) {
  Scope s;
  const Endpoint x = op::Placeholder(s, DataType::kFloat, {.name = "x", .shape = {kBatch}});
  const Endpoint y = op::Placeholder(s, DataType::kFloat, {.name = "y", .shape = {kBatch}});
  const Endpoint loss = op::Mean(s, parallel ? MakeParallel(s, 2, x, y) : Model(s, x, y), {0});
  const Endpoint train =
      lanescope::graphs::AdamOptimizer(0.1).Minimize(s, loss, {.colocate_gradients_with_ops = parallel});
  const Endpoint init = lanescope::graphs::InitializeVariables(s);

  samples::GraphRun run(s);
  run({}, {}, {init});
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-10, 10);
  Tensor x_value(DataType::kFloat, Shape{kBatch}), y_value(DataType::kFloat, Shape{kBatch});
  for (int step = 0; step < 1000; ++step) {
    for (int i = 0; i < kBatch; ++i) {
      const float v = uniform(random);
      x_value.data<float>()[i] = v;
      y_value.data<float>()[i] = 5 * v * v + 3;
    }
    run({loss}, {{"x", x_value}, {"y", y_value}}, {train});
  }
  samples::Print(parallel ? "w on two GPUs" : "w on one GPU", run({s.variables()[0]->value})[0]);
}

}  // namespace

int main() {
  return samples::Main([] {
    Fit(false);
    Fit(true);
  });
}
