// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/step_request.h"

#include <algorithm>
#include <string_view>

#include "core/base/error.h"
#include "core/graph/op.h"

namespace lanescope {
namespace {

bool IsFed(const RunSpec& spec, const std::string& node) {
  // "x:0" and "x" are one tensor.
  return spec.feeds.count(node) > 0 || spec.feeds.count(node + ":0") > 0;
}

// `done`: what is asked for, for the message.
Endpoint FindOutput(const Graph& graph, const std::string& name, std::string_view done) {
  const Endpoint endpoint = graph.FindEndpoint(name);
  const int outputs = NumOutputs(graph.node(endpoint.node));
  if (endpoint.output < 0 || outputs == 0) {
    Throw(Code::kInvalidArgument, "'{}' has no output and cannot be {}; name it as a target instead", name,
          done);
  }
  if (endpoint.output >= outputs) {
    Throw(Code::kInvalidArgument, "'{}' cannot be {}: outputs of '{}' go from :0 to :{}", name, done,
          graph.node(endpoint.node).name, outputs - 1);
  }
  return endpoint;
}

std::vector<std::string> UnusedNodes(const Graph& graph) {
  IdVector<NodeId, char> used(graph.num_nodes(), 0);
  for (const Node& node : graph.nodes()) {
    for (const Endpoint& input : node.inputs) used[input.node] = 1;
    for (const NodeId control : node.control_inputs) used[control] = 1;
  }
  std::vector<std::string> names;
  for (const NodeId id : graph.node_ids()) {
    if (!used[id]) names.push_back(graph.node(id).name);
  }
  return names;
}

}  // namespace

CompileRequest MakeCompileRequest(const Graph& graph,
                                  std::span<const std::pair<std::string, TensorInfo>> feeds,
                                  std::span<const std::string> fetches,
                                  std::span<const std::string> targets) {
  CompileRequest request;
  for (const auto& [name, info] : feeds) {
    const Endpoint endpoint = FindOutput(graph, name, "fed");
    for (const auto& [other, other_info] : request.feeds) {
      if (other == endpoint) Throw(Code::kInvalidArgument, "'{}' is fed twice", graph.TensorName(endpoint));
    }
    request.feeds.emplace_back(endpoint, info);
  }
  for (const std::string& fetch : fetches) request.fetches.push_back(FindOutput(graph, fetch, "fetched"));
  for (const std::string& target : targets) {
    // "name:0" is the node too, whether it has an output or not.
    Endpoint endpoint = graph.FindEndpoint(target);
    if (endpoint.output > 0) endpoint = FindOutput(graph, target, "run for its effect");
    request.fetches.push_back({endpoint.node, -1});
  }
  return request;
}

std::vector<std::pair<std::string, TensorInfo>> FeedInfos(const RunSpec& spec) {
  std::vector<std::pair<std::string, TensorInfo>> feeds;
  for (const auto& [name, feed] : spec.feeds) {
    TensorInfo info;
    info.dtype = feed.dtype;
    info.shape = feed.shape;
    feeds.emplace_back(name, std::move(info));
  }
  return feeds;
}

CompileRequest StepRequestOf(const Graph& graph, const RunSpec& spec) {
  return MakeCompileRequest(graph, FeedInfos(spec), spec.fetches, spec.targets);
}

IdVector<NodeId, char> NodesOfStep(const Graph& graph, const RunSpec& spec, const CompileRequest& request) {
  IdVector<NodeId, char> read(graph.num_nodes(), 0), runs(graph.num_nodes(), 0);
  std::vector<NodeId> open;
  const auto run = [&](NodeId node) {
    if (node.exists() && std::exchange(runs[node], 1) == 0) open.push_back(node);
  };
  const auto is_fed = [&](const Endpoint& tensor) {
    return std::ranges::any_of(request.feeds, [&](const auto& feed) { return feed.first == tensor; });
  };
  const auto read_tensor = [&](const Endpoint& tensor) {
    read[tensor.node] = 1;
    if (!is_fed(tensor)) run(tensor.node);
  };
  for (const Endpoint& fetch : request.fetches) fetch.output < 0 ? run(fetch.node) : read_tensor(fetch);
  for (const std::string& node : spec.init) run(graph.FindNode(node));
  for (const QueueRunnerSpec& runner : spec.queue_runners)
    for (const std::string& node : runner.enqueue_ops) run(graph.FindNode(node));
  while (!open.empty()) {
    const Node& node = graph.node(open.back());
    open.pop_back();
    for (const Endpoint& input : node.inputs) read_tensor(input);
    for (const NodeId control : node.control_inputs) run(control);
  }
  for (const NodeId id : graph.node_ids()) read[id] |= runs[id];
  return read;
}

std::vector<std::string> ConfigureWholeGraph(const Graph& graph, RunSpec* spec) {
  const GraphInfo info = InferGraph(graph, StepRequestOf(graph, *spec).feeds);
  std::vector<std::string> notes;
  for (std::string& name : UnusedNodes(graph)) spec->targets.push_back(std::move(name));
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    const bool placeholder = node.op == "Placeholder" || node.op == "PlaceholderV2";
    if (!placeholder || IsFed(*spec, node.name)) continue;
    const TensorInfo& output = info.of({id, 0});
    FeedSpec feed;
    feed.dtype = output.dtype;
    feed.shape = output.shape;
    if (!feed.shape.known_rank()) notes.push_back(fmt::format("'{}' has no shape", node.name));
    for (int i = 0; feed.shape.known_rank() && i < feed.shape.rank(); ++i) {
      if (!IsExact(feed.shape[i])) feed.shape.set_dim(i, 1);
    }
    if (output.shape.known_rank() && !output.shape.IsExact()) {
      notes.push_back(fmt::format("'{}' of shape {} is taken as {}", node.name, output.shape.ToString(),
                                  feed.shape.ToString()));
    }
    spec->feeds[node.name] = std::move(feed);
  }
  return notes;
}

}  // namespace lanescope
