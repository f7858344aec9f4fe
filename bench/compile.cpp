// SPDX-License-Identifier: Apache-2.0
// Compiling: shape inference and the passes from graph to schedule, by node of the graph.
#include <benchmark/benchmark.h>

#include "core/graph/graph_io.h"
#include "core/inputs/run_spec.h"
#include "core/schedule/cost.h"
#include "core/schedule/schedule.h"
#include "core/strategies/strategy.h"
#include "tests/support/random_graph.h"

namespace lanescope {
namespace {

struct Input {
  Graph graph;
  CompileRequest request;
  Placement placement;
  Machine machine;
};

// About 100,000 nodes on four GPUs at random.
const Input& RandomInput() {
  static const Input* const input = [] {
    auto* made = new Input;
    auto random = test::MakeRandomGraph(1, 50000, 0);
    made->graph = std::move(random.graph);
    // Everything is needed.
    made->request = test::RequestFor(made->graph, random.fetches, {});
    for (const NodeId id : made->graph.node_ids()) made->request.fetches.push_back({id, -1});
    made->machine = VirtualMachine(4, 1);
    made->placement = test::RandomPlacement(made->graph, made->machine, 1);
    return made;
  }();
  return *input;
}

const Input& DeepConn() {
  static const Input* const input = [] {
    auto* made = new Input;
    const std::string path = LANESCOPE_SOURCE_DIR "/samples/graphs/deepconn_dual.pbtxt";
    made->graph = ReadGraph(path);
    const RunSpec spec = ReadRunSpecBeside(path);
    made->request = test::RequestFor(made->graph, spec.fetches, spec.targets);
    for (const auto& [name, tensor] : MakeFeeds(spec, 0)) {
      TensorInfo info;
      info.dtype = tensor.dtype();
      info.shape = tensor.shape();
      made->request.feeds.emplace_back(made->graph.FindEndpoint(name), info);
    }
    made->machine = VirtualMachine(2, 1);
    const GraphInfo info = InferGraph(made->graph, made->request.feeds);
    const RooflineCost costs;
    made->placement =
        PlaceByStrategy("annotated", {made->graph, info, made->machine, costs, PlacerOptions()});
    return made;
  }();
  return *input;
}

void CountNodes(benchmark::State& state, const Input& input) {
  state.counters["us_per_node"] =
      benchmark::Counter(static_cast<double>(input.graph.num_nodes()) * 1e-6,
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void BM_Infer(benchmark::State& state, const Input& (*make)()) {
  const Input& input = make();
  for (auto _ : state) benchmark::DoNotOptimize(InferGraph(input.graph, input.request.feeds));
  CountNodes(state, input);
}

void BM_Compile(benchmark::State& state, const Input& (*make)()) {
  const Input& input = make();
  const GraphInfo info = InferGraph(input.graph, input.request.feeds);
  for (auto _ : state)
    benchmark::DoNotOptimize(Compile(input.graph, info, input.request, input.placement, input.machine));
  CountNodes(state, input);
}

BENCHMARK_CAPTURE(BM_Infer, random_100k, RandomInput)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Compile, random_100k, RandomInput)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Infer, deepconn, DeepConn)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Compile, deepconn, DeepConn)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lanescope
