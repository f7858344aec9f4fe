// SPDX-License-Identifier: Apache-2.0
#include "study/measure/ensemble_graph.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

namespace lanescope::study {
namespace {

constexpr std::string_view kGroupPrefix = "loc:@";

void Prepend(const std::string& scope, std::string_view attr, Node* node) {
  const auto found = node->attrs.find(attr);
  if (found == node->attrs.end()) return;
  auto* name = std::get_if<std::string>(&found->second);
  if (name != nullptr && !name->empty()) *name = scope + *name;
}

Node InScope(const std::string& scope, Node node) {
  node.name = scope + node.name;
  // Without a name a resource is called as its node.
  Prepend(scope, "shared_name", &node);
  const auto groups = node.attrs.find("_class");
  if (groups == node.attrs.end()) return node;
  if (auto* list = std::get_if<std::vector<std::string>>(&groups->second)) {
    for (std::string& group : *list) {
      if (group.starts_with(kGroupPrefix))
        group = fmt::format("{}{}{}", kGroupPrefix, scope, group.substr(kGroupPrefix.size()));
    }
  }
  return node;
}

}  // namespace

std::string ReplicaScope(int replica) { return fmt::format("replica_{}/", replica); }

Graph RepeatGraph(const Graph& graph, int replicas) {
  Graph repeated;
  repeated.extra = graph.extra;
  for (int r = 0; r < replicas; ++r) {
    const std::string scope = ReplicaScope(r);
    const auto moved = [&](NodeId id) { return ReplicaNode(id, graph.num_nodes(), r); };
    for (const NodeId id : graph.node_ids()) {
      Node node = InScope(scope, graph.node(id));
      for (Endpoint& input : node.inputs) input.node = moved(input.node);
      for (NodeId& control : node.control_inputs) control = moved(control);
      repeated.AddNode(std::move(node));
    }
    for (const auto& [id, problem] : graph.problems) repeated.problems.emplace(moved(id), problem);
  }
  return repeated;
}

RunSpec RepeatStep(const RunSpec& spec, int replicas, uint64_t seed) {
  RunSpec repeated;
  for (int r = 0; r < replicas; ++r) {
    const std::string scope = ReplicaScope(r);
    const auto append = [&](const std::vector<std::string>& names, std::vector<std::string>* to) {
      for (const std::string& name : names) to->push_back(scope + name);
    };
    append(spec.init, &repeated.init);
    append(spec.fetches, &repeated.fetches);
    append(spec.targets, &repeated.targets);
    for (const auto& [name, feed] : spec.feeds) {
      FeedSpec& own = repeated.feeds[scope + name];
      own = feed;
      if (!feed.of.empty()) own.of = scope + feed.of;
      if (feed.has_seed) continue;
      own.seed = seed + static_cast<uint64_t>(r);
      own.has_seed = true;
    }
    for (const auto& [name, axis] : spec.batch_axis) repeated.batch_axis[scope + name] = axis;
    for (QueueRunnerSpec runner : spec.queue_runners) {
      runner.queue = scope + runner.queue;
      for (std::string& op : runner.enqueue_ops) op = scope + op;
      for (std::string* op : {&runner.close_op, &runner.cancel_op}) {
        if (!op->empty()) *op = scope + *op;
      }
      repeated.queue_runners.push_back(std::move(runner));
    }
  }
  if (!spec.loss.empty()) repeated.loss = ReplicaScope(0) + spec.loss;
  return repeated;
}

}  // namespace lanescope::study
