// SPDX-License-Identifier: Apache-2.0
// The time of steps with attention, its nodes in launches of their own and as two commands, in processor time
// on a virtual device of one thread: attention alone, forward and with its gradients, as TensorFlow writes
// them, and a training step of the GPT of the tests.
// In turn: --benchmark_enable_random_interleaving=true --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/graph/graph_io.h"
#include "core/inputs/run_spec.h"
#include "core/place/placement.h"
#include "exec/run/session.h"

namespace lanescope::exec {
namespace {

struct Step {
  GraphBuilder builder;
  std::vector<std::string> init;
  int number = 0;

  std::string NewName() { return "op" + std::to_string(++number); }
  Endpoint Op(const std::string& op, const std::vector<Endpoint>& inputs) {
    auto node = builder.Op(op, NewName());
    for (const Endpoint& input : inputs) node.Input(input);
    return node.Build();
  }
  Endpoint Scalar(float value) { return builder.Const(NewName(), Tensor::Scalar(value)); }
  Endpoint Product(Endpoint a, Endpoint b, bool turn_a, bool turn_b) {
    auto node = builder.Op("BatchMatMulV2", NewName());
    return node.Input(a).Input(b).Attr("adj_x", turn_a).Attr("adj_y", turn_b).Build();
  }
  // A result of this step, as that of a product of a layer.
  Endpoint Operand(const std::string& name, const Shape& shape) {
    const Endpoint variable =
        builder.Op("VariableV2", name).Attr("dtype", DataType::kFloat).Attr("shape", shape).Build();
    std::vector<int32_t> dims;
    for (int i = 0; i < shape.rank(); ++i) dims.push_back(static_cast<int32_t>(shape[i]));
    const Endpoint size = builder.Const(
        name + "/size", Tensor::FromValues<int32_t>(Shape{static_cast<int64_t>(dims.size())}, dims));
    builder.Op("Assign", name + "/init").Input(variable).Input(Op("Fill", {size, Scalar(0.02f)})).Build();
    init.push_back(name + "/init");
    return Op("Mul", {variable, Scalar(1.5f)});
  }
  Endpoint Sum(Endpoint x, std::vector<int32_t> axes, bool keep) {
    const auto count = static_cast<int64_t>(axes.size());
    const Endpoint axis = builder.Const(NewName(), Tensor::FromValues<int32_t>(Shape{count}, axes));
    return builder.Op("Sum", NewName()).Input(x).Input(axis).Attr("keep_dims", keep).Build();
  }
};

void Run(benchmark::State& state, const Graph& graph, const std::vector<std::string>& init,
         const RunRequest& request) {
  Machine machine = VirtualMachine(1, 1);
  for (DeviceSpec& device : machine.devices) device.memory_bytes = int64_t{1} << 34;
  Placement placement;
  placement.device.assign(graph.num_nodes(), machine.Gpus()[0]);
  SessionOptions options;
  options.fuse = state.range(0) != 0;
  Session session(graph, placement, machine, options);
  for (const std::string& target : init) session.Run({{}, {}, {target}});
  session.Run(request);
  for (auto _ : state) session.Run(request);
  const auto schedule = session.Prepare(request).schedule;
  const auto launches = std::ranges::count_if(
      schedule->commands, [](const Command& command) { return command.kind == CommandKind::kLaunch; });
  state.counters["launches"] = static_cast<double>(launches);
  state.counters["planned_MB"] = static_cast<double>(schedule->peak_bytes[machine.Gpus()[0]]) / 1e6;
}

// `heads` of batches and heads together.
void RunAttention(benchmark::State& state, bool backward) {
  const int64_t heads = state.range(1), tokens = state.range(2);
  const Shape shape{1, heads, tokens, 64};
  Step step;
  const Endpoint q = step.Operand("q", shape), k = step.Operand("k", shape), v = step.Operand("v", shape);
  const Endpoint scale = step.Scalar(0.125f);
  const Endpoint soft = step.Op("Softmax", {step.Op("Mul", {step.Product(q, k, false, true), scale})});
  std::vector<Endpoint> results = {step.Product(soft, v, false, false)};
  if (backward) {
    const Endpoint dy = step.Op("Mul", {results[0], step.Scalar(0.1f)});
    results.push_back(step.Product(soft, dy, true, false));
    const Endpoint dsoft = step.Product(dy, v, false, true);
    const Endpoint sum = step.Sum(step.Op("Mul", {dsoft, soft}), {-1}, true);
    const Endpoint dscores = step.Op("Mul", {step.Op("Mul", {step.Op("Sub", {dsoft, sum}), soft}), scale});
    results.push_back(step.Product(dscores, k, false, false));
    results.push_back(step.Product(dscores, q, true, false));
  }
  std::vector<std::string> fetches;
  for (const Endpoint& result : results)
    fetches.push_back(step.builder.graph().TensorName(step.Sum(result, {0, 1, 2, 3}, false)));
  const Graph graph = step.builder.Take();
  Run(state, graph, step.init, {{}, fetches, {}});
}

void RunGpt(benchmark::State& state) {
  const std::string path = LANESCOPE_SOURCE_DIR "/tests/golden/graphs/gpt.pb";
  const Graph graph = ReadGraph(path);
  const RunSpec spec = ReadRunSpecBeside(path);
  Run(state, graph, spec.init, {MakeFeeds(spec, 0), spec.fetches, spec.targets});
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"fused", "heads", "tokens"});
  for (const auto& [heads, tokens] : {std::pair<int64_t, int64_t>{48, 256}, {12, 1024}, {2, 4096}}) {
    for (const int64_t fused : {0, 1}) benchmark->Args({fused, heads, tokens});
  }
  benchmark->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(RunAttention, forward, false)->Apply(Sizes);
BENCHMARK_CAPTURE(RunAttention, with_gradients, true)->Apply(Sizes);
BENCHMARK(RunGpt)->ArgName("fused")->Arg(0)->Arg(1)->Iterations(1)->MeasureProcessCPUTime()->Unit(
    benchmark::kMillisecond);

}  // namespace
}  // namespace lanescope::exec
