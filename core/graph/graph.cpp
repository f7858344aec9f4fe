// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph.h"

#include <algorithm>
#include <charconv>
#include <queue>

#include "core/base/edit_distance.h"
#include "core/base/error.h"

namespace lanescope {
namespace {

constexpr size_t kMaxNamedInCycle = 8;

// The name most like `wanted`, or null where none is like it in at least half of its letters.
const std::string* ClosestName(std::span<const Node> nodes, std::string_view wanted) {
  const std::string* closest = nullptr;
  size_t best = wanted.size() / 2 + 1;
  for (const Node& node : nodes) {
    const size_t distance = EditDistance(wanted, node.name, best);
    if (distance < best) {
      best = distance;
      closest = &node.name;
    }
  }
  return closest;
}

[[noreturn]] void ThrowNoTensor(std::span<const Node> nodes, std::string_view tensor, std::string_view node) {
  const std::string* closest = ClosestName(nodes, node);
  if (closest == nullptr) Throw(Code::kNotFound, "the graph has no tensor '{}'", tensor);
  Throw(Code::kNotFound, "the graph has no tensor '{}'; the closest node name is '{}'", tensor, *closest);
}

template <typename Visit>
void ForEachSource(const Node& node, Visit visit) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    visit(node.inputs[i].node, static_cast<int>(i), node.inputs[i].output);
  }
  for (const NodeId source : node.control_inputs) visit(source, -1, -1);
}

// Every node uses only nodes of smaller numbers, as in most files.
bool IsSorted(const Graph& graph) {
  bool sorted = true;
  for (const NodeId id : graph.node_ids()) {
    if (!sorted) break;
    ForEachSource(graph.node(id),
                  [&](NodeId source, int, int) { sorted = sorted && source.exists() && source < id; });
  }
  return sorted;
}

void CheckSources(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    ForEachSource(node, [&](NodeId source, int, int) {
      if (!graph.Contains(source)) {
        Throw(Code::kInvalidArgument, "node '{}' has an input from node number {}, which is not in the graph",
              node.name, source.number());
      }
    });
  }
}

// A cycle among the nodes that still wait for an input: each of them has a waiting source, so walking from
// source to source must come back to a node seen before. In the direction of the edges,
// smallest id first.
std::vector<NodeId> FindCycle(const Graph& graph, const IdVector<NodeId, int>& waiting) {
  IdVector<NodeId, int> position(waiting.size(), -1);
  std::vector<NodeId> path;
  const auto first = std::ranges::find_if(waiting, [](int count) { return count > 0; });
  NodeId node(first - waiting.begin());
  while (position[node] < 0) {
    position[node] = static_cast<int>(path.size());
    path.push_back(node);
    NodeId next;
    ForEachSource(graph.node(node), [&](NodeId source, int, int) {
      if (!next.exists() && waiting[source] > 0) next = source;
    });
    node = next;
  }
  path.erase(path.begin(), path.begin() + position[node]);
  std::ranges::reverse(path);
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  return path;
}

[[noreturn]] void ThrowCycle(const Graph& graph, const std::vector<NodeId>& cycle) {
  std::string names;
  for (size_t i = 0; i < std::min(cycle.size(), kMaxNamedInCycle); ++i) {
    names += fmt::format("'{}' -> ", graph.node(cycle[i]).name);
  }
  if (cycle.size() > kMaxNamedInCycle) {
    names += fmt::format("({} more) -> ", cycle.size() - kMaxNamedInCycle);
  }
  Throw(Code::kInvalidArgument, "the graph has a cycle: {}'{}'", names, graph.node(cycle[0]).name);
}

}  // namespace

bool IsValidNodeName(std::string_view name) {
  constexpr std::string_view kLettersAndDigits =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  if (name.empty() || std::string_view("\\/>-").find(name[0]) != std::string_view::npos) return false;
  return std::ranges::all_of(name, [&](char c) {
    return kLettersAndDigits.find(c) != std::string_view::npos ||
           std::string_view("_.\\/>-").find(c) != std::string_view::npos;
  });
}

NodeId Graph::AddNode(Node node) {
  if (!by_name_.emplace(node.name, nodes_.next_id()).second) {
    Throw(Code::kAlreadyExists, "the graph already has a node '{}'", node.name);
  }
  return nodes_.Add(std::move(node));
}

NodeId Graph::FindNode(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? NodeId() : it->second;
}

Endpoint Graph::FindEndpoint(std::string_view tensor) const {
  const bool control = tensor.starts_with('^');
  std::string_view name = control ? tensor.substr(1) : tensor;
  int output = control ? -1 : 0;
  const size_t colon = name.rfind(':');
  if (!control && colon != std::string_view::npos) {
    const std::string_view digits = name.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), output);
    name = name.substr(0, colon);
    if (error != std::errc() || end != digits.data() + digits.size() || output < 0) {
      ThrowNoTensor(nodes_, tensor, name);
    }
  }
  const NodeId node = FindNode(name);
  if (!node.exists()) ThrowNoTensor(nodes_, tensor, name);
  return {node, output};
}

std::string Graph::TensorName(Endpoint endpoint) const {
  const std::string& name = node(endpoint.node).name;
  if (endpoint.output < 0) return '^' + name;
  return endpoint.output == 0 ? name : fmt::format("{}:{}", name, endpoint.output);
}

std::vector<NodeId> Graph::TopologicalOrder() const {
  if (IsSorted(*this)) {
    std::vector<NodeId> order(nodes_.size());
    std::ranges::copy(node_ids(), order.begin());
    return order;
  }
  const Fanout fanout = ComputeFanout(*this);
  IdVector<NodeId, int> waiting(nodes_.size());
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (const NodeId id : node_ids()) {
    const Node& n = node(id);
    waiting[id] = static_cast<int>(n.inputs.size() + n.control_inputs.size());
    if (waiting[id] == 0) ready.push(id);
  }
  std::vector<NodeId> order;
  order.reserve(nodes_.size());
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    order.push_back(id);
    for (const NodeUse& edge : fanout[id]) {
      if (--waiting[edge.node] == 0) ready.push(edge.node);
    }
  }
  if (order.size() != nodes_.size()) ThrowCycle(*this, FindCycle(*this, waiting));
  return order;
}

Fanout ComputeFanout(const Graph& graph) {
  CheckSources(graph);
  return MakeRows<NodeUse, NodeId>(graph.num_nodes(), [&](const auto& add) {
    for (const NodeId id : graph.node_ids()) {
      ForEachSource(graph.node(id), [&](NodeId source, int input, int output) {
        add(source, NodeUse{id, input, output});
      });
    }
  });
}

}  // namespace lanescope
