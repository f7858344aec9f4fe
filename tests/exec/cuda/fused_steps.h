// SPDX-License-Identifier: Apache-2.0
// Steps with fused launches, for tests of their kernels.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/graph/graph_io.h"
#include "core/inputs/run_spec.h"
#include "core/inputs/step_request.h"
#include "core/schedule/schedule.h"
#include "tests/exec/session_harness.h"
#include "tests/support/paths.h"

namespace lanescope::exec::test {

// A step of a graph whose nodes share launches, all on one GPU.
struct FusedStep {
  Graph graph;
  GraphInfo info;
  Schedule schedule;
};

inline Machine LargeMachine() {
  Machine machine = FastMachine(1);
  for (DeviceSpec& device : machine.devices) device.memory_bytes = int64_t{80} << 30;
  return machine;
}

inline FusedStep CompileFused(Graph graph, CompileRequest request, const Machine& machine = LargeMachine()) {
  FusedStep step;
  step.graph = std::move(graph);
  request.fuse = true;
  step.info = InferGraph(step.graph, request.feeds);
  step.schedule = Compile(step.graph, step.info, request, PlaceAll(step.graph, Gpu(machine, 0)), machine);
  return step;
}

inline FusedStep CompileFile(const std::string& path, int batch) {
  Graph graph = ReadGraph(path);
  RunSpec spec = ReadRunSpecBeside(path);
  if (batch > 0) {
    for (const auto& [feed, axis] : spec.batch_axis) spec.feeds.at(feed).shape.set_dim(axis, batch);
  }
  CompileRequest request = StepRequestOf(graph, spec);
  return CompileFused(std::move(graph), std::move(request));
}

// Every form of broadcast, reductions of reductions, both kinds of softmax: over rows of n elements.
inline FusedStep RowsOf(int64_t n) {
  GraphBuilder builder;
  CompileRequest request;
  const auto feed = [&](const std::string& name, const Shape& shape) {
    const Endpoint endpoint = builder.Placeholder(name, DataType::kFloat, shape);
    TensorInfo info;
    info.dtype = DataType::kFloat;
    info.shape = shape;
    request.feeds.emplace_back(endpoint, info);
    return endpoint;
  };
  const auto op = [&](const std::string& kind, const std::string& name, const std::vector<Endpoint>& inputs) {
    auto node = builder.Op(kind, name);
    for (const Endpoint& input : inputs) node.Input(input);
    return node.Build();
  };
  const Endpoint axis = builder.Const("axis", Tensor::FromValues<int32_t>(Shape{1}, {-1}));
  const auto reduce = [&](const std::string& kind, const std::string& name, Endpoint of) {
    return builder.Op(kind, name).Input(of).Input(axis).Attr("keep_dims", true).Build();
  };
  const Endpoint x = feed("x", Shape{2, 3, n}), bias = feed("bias", Shape{n}),
                 column = feed("column", Shape{3, 1});
  const Endpoint middle = feed("middle", Shape{2, 1, n}), half = feed("half", Shape{});
  const Endpoint a = op("Tanh", "a", {op("AddV2", "biased", {x, bias})});
  const Endpoint b = op("Mul", "b", {op("Sub", "columns", {a, column}), middle});
  const Endpoint chosen = op("SelectV2", "chosen", {op("Greater", "is_large", {b, half}), a, b});
  const Endpoint mean = reduce("Mean", "mean", chosen);
  const Endpoint variance = reduce("Mean", "variance", op("SquaredDifference", "difference", {chosen, mean}));
  const Endpoint scale = op("Rsqrt", "scale", {op("AddV2", "more", {variance, half})});
  const Endpoint normal = op("Mul", "normal", {op("Sub", "centred", {chosen, mean}), scale});
  const Endpoint range = op("Sub", "range", {reduce("Max", "most", normal), reduce("Min", "least", normal)});
  const Endpoint softmax = op("Softmax", "softmax", {op("RealDiv", "ranged", {normal, range})});
  const Endpoint logs = op("LogSoftmax", "logs", {op("Neg", "negated", {softmax})});
  request.fetches = {op("Exp", "result", {logs}), b, mean,
                     reduce("Prod", "product", op("Abs", "sizes", {logs}))};
  return CompileFused(builder.Take(), std::move(request));
}

// Decayed and stepped by Adam, so many variables of n + 1, n + 2, .. elements.
inline FusedStep UpdatesOf(int variables, int64_t n) {
  GraphBuilder builder;
  CompileRequest request;
  const auto number = [&](const std::string& name, float value) {
    return builder.Const(name, Tensor::Scalar(value));
  };
  const Endpoint keep = number("keep", 0.99f), rate = number("rate", 0.01f), beta = number("beta", 0.9f);
  for (int i = 0; i < variables; ++i) {
    const std::string name = "v" + std::to_string(i);
    const Shape shape{n + i + 1};
    std::vector<Endpoint> states;
    for (const char* slot : {"", "/m", "/v"}) {
      states.push_back(builder.Op("VarHandleOp", name + slot)
                           .Attr("dtype", DataType::kFloat)
                           .Attr("shape", shape)
                           .Attr("shared_name", name + slot)
                           .Build());
    }
    const Endpoint gradient = builder.Placeholder(name + "/gradient", DataType::kFloat, shape);
    TensorInfo info;
    info.dtype = DataType::kFloat;
    info.shape = shape;
    request.feeds.emplace_back(gradient, info);
    const Endpoint read =
        builder.Op("ReadVariableOp", name + "/read").Input(states[0]).Attr("dtype", DataType::kFloat).Build();
    const Endpoint kept = builder.Op("Mul", name + "/kept").Input(read).Input(keep).Build();
    const Endpoint decay =
        builder.Op("AssignVariableOp", name + "/decay").Input(states[0]).Input(kept).Build();
    auto update = builder.Op("ResourceApplyAdam", name + "/update");
    for (const Endpoint& state : states) update.Input(state);
    for (const Endpoint& input : {beta, beta, rate, beta, beta, rate}) update.Input(input);
    const Endpoint clipped = builder.Op("Mul", name + "/clipped").Input(gradient).Input(beta).Build();
    request.fetches.push_back({update.Input(clipped).ControlInput(decay).Build().node, -1});
  }
  return CompileFused(builder.Take(), std::move(request));
}

inline std::vector<std::string> SamplePaths() {
  std::vector<std::string> paths;
  for (const char* name :
       {"cifar10_single", "deepconn_single", "polynomial", "random_add", "two_towers_matmul"})
    paths.push_back(lanescope::test::SourceDir() + "/samples/graphs/" + name + ".pbtxt");
  return paths;
}

}  // namespace lanescope::exec::test
