// SPDX-License-Identifier: Apache-2.0
// Builds a graph in C++, lets two strategies place it on virtual GPUs, runs it under each and prints where
// every op went, what was copied and what came out: the same result from both placements.
#include <recorded_runs.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/graph/op.h"
#include "core/graph/tensor.h"
#include "core/machine/machine.h"
#include "core/schedule/cost.h"
#include "core/schedule/schedule.h"
#include "core/strategies/strategy.h"
#include "exec/run/session.h"

namespace {

using lanescope::DataType;
using lanescope::Shape;
using lanescope::Tensor;

constexpr int kSize = 256;

// y = relu(x * a) + relu(x * b): two towers that meet in a sum.
lanescope::Graph TwoTowers() {
  const Tensor ones =
      Tensor::FromValues(Shape{kSize, kSize}, std::vector<float>(static_cast<size_t>(kSize) * kSize, 1.0f));
  lanescope::GraphBuilder builder;
  const auto x = builder.Placeholder("x", DataType::kFloat, Shape{kSize, kSize});
  const auto a = builder.Const("a", ones);
  const auto b = builder.Const("b", ones);
  const auto left = builder.Op("MatMul", "left/product").Input(x).Input(a).Build();
  const auto right = builder.Op("MatMul", "right/product").Input(x).Input(b).Build();
  const auto left_out = builder.Op("Relu", "left/relu").Input(left).Build();
  const auto right_out = builder.Op("Relu", "right/relu").Input(right).Build();
  builder.Op("AddV2", "y").Input(left_out).Input(right_out).Build();
  return builder.Take();
}

void RunUnder(const char* strategy, const lanescope::Graph& graph, const lanescope::Machine& machine) {
  const Tensor x =
      Tensor::FromValues(Shape{kSize, kSize}, std::vector<float>(static_cast<size_t>(kSize) * kSize, 0.5f));
  lanescope::TensorInfo fed;
  fed.dtype = x.dtype();
  fed.shape = x.shape();
  const lanescope::GraphInfo info = lanescope::InferGraph(graph, {{graph.FindEndpoint("x"), fed}});

  const lanescope::RooflineCost costs;
  const lanescope::PlacerOptions placer;
  const lanescope::Placement placement =
      lanescope::PlaceByStrategy(strategy, {graph, info, machine, costs, placer});

  lanescope::exec::Session session(graph, placement, machine);
  lanescope::exec::RunRequest request;
  request.feeds["x"] = x;
  request.fetches = {"y"};
  auto& step = session.Prepare(request);
  const auto result = session.Run(step, request.feeds);
  samples::RunRecorder(graph).Add(request.feeds, request.targets, request.fetches, result.fetches);

  std::printf("%s\n", strategy);
  for (const lanescope::NodeId id : graph.node_ids()) {
    const lanescope::DeviceId device = placement.device[id];
    std::printf("  %-14s %s\n", graph.node(id).name.c_str(), machine.device(device).local_name().c_str());
  }
  int64_t copies = 0, bytes = 0;
  for (const lanescope::Command& command : step.schedule->commands) {
    if (command.kind != lanescope::CommandKind::kCopy) continue;
    ++copies;
    bytes += command.bytes;
  }
  std::printf("  y[0] = %g, %lld copies of %lld bytes, %.3f ms\n", result.fetches[0].data<float>()[0],
              static_cast<long long>(copies), static_cast<long long>(bytes),
              static_cast<double>(result.times.end_ns - result.times.start_ns) / 1e6);
}

}  // namespace

int main() {
  try {
    const lanescope::Graph graph = TwoTowers();
    const lanescope::Machine machine = lanescope::VirtualMachine(2, 1);
    for (const char* strategy : {"single", "alternating"}) RunUnder(strategy, graph, machine);
    return 0;
  } catch (const lanescope::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
