// SPDX-License-Identifier: Apache-2.0
// The time of a step with its nodes in launches of their own and in shared ones, on a virtual device of one
// thread, in processor time: the activation of a transformer's layer backwards, a layer norm with bias and
// residual, and sums and products alone.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/place/placement.h"
#include "exec/run/session.h"

namespace lanescope::exec {
namespace {

struct Step {
  GraphBuilder builder;
  std::vector<std::string> init;

  Endpoint Op(const std::string& op, const std::vector<Endpoint>& inputs) {
    auto node = builder.Op(op, "op" + std::to_string(++number));
    for (const Endpoint& input : inputs) node.Input(input);
    return node.Build();
  }
  Endpoint Scalar(float value) {
    return builder.Const("scalar" + std::to_string(++number), Tensor::Scalar(value));
  }
  Endpoint Variable(const std::string& name, const Shape& shape) {
    std::vector<int32_t> dims;
    for (int i = 0; i < shape.rank(); ++i) dims.push_back(static_cast<int32_t>(shape[i]));
    const Endpoint variable =
        builder.Op("VariableV2", name).Attr("dtype", DataType::kFloat).Attr("shape", shape).Build();
    const Endpoint size = builder.Const(
        name + "/size", Tensor::FromValues<int32_t>(Shape{static_cast<int64_t>(dims.size())}, dims));
    const Endpoint filled = Op("Fill", {size, Scalar(0.7f)});
    builder.Op("Assign", name + "/init").Input(variable).Input(filled).Build();
    init.push_back(name + "/init");
    return Op("Identity", {variable});
  }
  Endpoint Mean(Endpoint x) {
    const std::string name = "mean" + std::to_string(++number);
    const Endpoint axis = builder.Const(name + "/axis", Tensor::FromValues<int32_t>(Shape{1}, {-1}));
    return builder.Op("Mean", name).Input(x).Input(axis).Attr("keep_dims", true).Build();
  }

  int number = 0;
};

Endpoint ActivationGradient(Step* step) {
  const Endpoint x = step->Variable("x", Shape{1024, 3072}), dy = step->Variable("dy", Shape{1024, 3072});
  const Endpoint erf = step->Op("Erf", {step->Op("Mul", {x, step->Scalar(0.7071f)})});
  const Endpoint part = step->Op("Mul", {step->Op("AddV2", {erf, step->Scalar(1)}), step->Scalar(0.5f)});
  const Endpoint square = step->Op("Mul", {step->Op("Mul", {x, x}), step->Scalar(-0.5f)});
  const Endpoint density = step->Op("Mul", {step->Op("Exp", {square}), step->Scalar(0.39894f)});
  return step->Op("Mul", {dy, step->Op("AddV2", {part, step->Op("Mul", {x, density})})});
}

Endpoint LayerNorm(Step* step) {
  const Endpoint x = step->Variable("x", Shape{1024, 768}), y = step->Variable("y", Shape{1024, 768});
  const Endpoint weight = step->Variable("weight", Shape{768}), bias = step->Variable("bias", Shape{768});
  const Endpoint sum = step->Op("AddV2", {x, step->Op("AddV2", {y, bias})});
  const Endpoint mean = step->Mean(sum);
  const Endpoint variance = step->Mean(step->Op("SquaredDifference", {sum, mean}));
  const Endpoint scale = step->Op("Rsqrt", {step->Op("AddV2", {variance, step->Scalar(1e-5f)})});
  const Endpoint normal = step->Op("Mul", {step->Op("Sub", {sum, mean}), scale});
  return step->Op("AddV2", {step->Op("Mul", {normal, weight}), bias});
}

Endpoint Arithmetic(Step* step) {
  const Endpoint x = step->Variable("x", Shape{4096, 1024}), y = step->Variable("y", Shape{4096, 1024});
  const Endpoint product = step->Op("Mul", {step->Op("AddV2", {x, y}), x});
  return step->Op("Mul", {step->Op("Sub", {product, y}), x});
}

void RunStep(benchmark::State& state, Endpoint (*make)(Step*)) {
  Step step;
  const Endpoint axes = step.builder.Const("axes", Tensor::FromValues<int32_t>(Shape{2}, {0, 1}));
  step.builder.Op("Sum", "total").Input(make(&step)).Input(axes).Build();
  const Graph graph = step.builder.Take();
  const Machine machine = VirtualMachine(1, 1);
  Placement placement;
  placement.device.assign(graph.num_nodes(), machine.Gpus()[0]);
  SessionOptions options;
  options.fuse = state.range(0) != 0;
  Session session(graph, placement, machine, options);
  for (const std::string& target : step.init) session.Run({{}, {}, {target}});
  for (auto _ : state) session.Run({{}, {"total:0"}, {}});
}

BENCHMARK_CAPTURE(RunStep, activation_gradient, ActivationGradient)
    ->ArgName("fused")
    ->Arg(0)
    ->Arg(1)
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(RunStep, layer_norm, LayerNorm)
    ->ArgName("fused")
    ->Arg(0)
    ->Arg(1)
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(RunStep, arithmetic, Arithmetic)
    ->ArgName("fused")
    ->Arg(0)
    ->Arg(1)
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lanescope::exec
