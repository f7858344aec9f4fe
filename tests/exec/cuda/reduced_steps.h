// SPDX-License-Identifier: Apache-2.0
// Steps with all-reduces on several GPUs, for tests of NCCL.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/expand/functions.h"
#include "tests/exec/cuda/stub_harness.h"

namespace lanescope::exec::test {

inline std::string GpuName(int gpu) { return "/gpu:" + std::to_string(gpu); }

// Steps of a graph on a machine, its all-reduces as joint launches or as copies.
class Reduced {
 public:
  Reduced(const Graph& graph, std::map<std::string, Tensor> feeds, std::vector<std::string> fetches,
          const Machine& machine, bool joint, bool graphs = true)
      : machine_(machine), request_{std::move(feeds), std::move(fetches), {}} {
    InlineOptions options;
    options.collectives.joint_launches = joint;
    std::vector<std::pair<Endpoint, TensorInfo>> known;
    for (const auto& [name, tensor] : request_.feeds) {
      options.feeds[name].dtype = tensor.dtype();
      options.feeds[name].shape = tensor.shape();
    }
    graph_ = InlineFunctions(graph, options);
    for (const auto& [name, info] : options.feeds) known.emplace_back(graph_.FindEndpoint(name), info);
    const GraphInfo info = InferGraph(graph_, known);
    placement_ = PlaceByStrategy("annotated", {graph_, info, machine_, RooflineCost(), {}});
    SessionOptions session;
    session.devices.graphs = graphs;
    session_ = std::make_unique<Session>(graph_, placement_, machine_, session);
  }
  std::vector<Tensor> Step() { return session_->Run(request_).fetches; }
  Session& session() { return *session_; }
  const RunRequest& request() const { return request_; }
  const Graph& graph() const { return graph_; }

 private:
  const Machine machine_;
  const RunRequest request_;
  Graph graph_;
  Placement placement_;
  std::unique_ptr<Session> session_;
};

template <typename T>
Tensor NumbersFrom(int64_t count, int first) {
  Tensor tensor(DataTypeOf<T>::value, Shape{count});
  for (int64_t i = 0; i < count; ++i) tensor.data<T>()[i] = static_cast<T>((first + 3 * i) % 5 + 1);
  return tensor;
}

// On each GPU: a square, the all-reduce of those, its negation.
inline Graph SumOfSquares(int gpus, DataType dtype, const std::string& reduction, int64_t count) {
  GraphBuilder builder;
  for (int i = 0; i < gpus; ++i) {
    const std::string at = std::to_string(i);
    const Endpoint x = builder.Placeholder("x" + at, dtype, Shape{count});
    const Endpoint square = builder.Op("Square", "square" + at).Input(x).Device(GpuName(i)).Build();
    const Endpoint sum = builder.Op("NcclAllReduce", "sum" + at)
                             .Input(square)
                             .Attr("reduction", reduction)
                             .Attr("num_devices", gpus)
                             .Attr("shared_name", "squares")
                             .Device(GpuName(i))
                             .Build();
    builder.Op("Neg", "y" + at).Input(sum).Device(GpuName(i)).Build();
  }
  return builder.Take();
}

inline std::vector<int> Ordinals(int gpus) {
  std::vector<int> ordinals;
  for (int i = 0; i < gpus; ++i) ordinals.push_back(i);
  return ordinals;
}

}  // namespace lanescope::exec::test
