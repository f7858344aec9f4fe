// SPDX-License-Identifier: Apache-2.0
#include "study/workload/queue_nodes.h"

#include <string_view>

#include "core/base/error.h"

namespace lanescope::study {
namespace {

std::string_view WithoutVersion(std::string_view op) {
  return op.ends_with("V2") ? op.substr(0, op.size() - 2) : op;
}

}  // namespace

bool MakesQueue(const Node& node) {
  const std::string_view op = WithoutVersion(node.op);
  return op == "FIFOQueue" || op == "PaddingFIFOQueue" || op == "RandomShuffleQueue";
}

NodeId QueueOfHandle(const Graph& graph, Endpoint input) {
  for (size_t hops = 0; hops <= graph.num_nodes(); ++hops) {
    const Node& node = graph.node(input.node);
    if (MakesQueue(node)) return input.node;
    const bool passes_on = node.op == "Identity" || node.op == "RefIdentity" || node.op == "Enter";
    if (!passes_on || node.inputs.empty()) break;
    input = node.inputs.front();
  }
  return {};
}

NodeId QueueUsedBy(const Graph& graph, const Node& node) {
  return node.inputs.empty() ? NodeId() : QueueOfHandle(graph, node.inputs.front());
}

std::string QueueName(const Node& queue) {
  const std::string shared = queue.StringAttr("shared_name", "");
  return shared.empty() ? queue.name : shared;
}

NodeId FindQueue(const Graph& graph, const std::string& name) {
  NodeId last_part;
  std::string known;
  for (const NodeId n : graph.node_ids()) {
    const Node& node = graph.node(n);
    if (!MakesQueue(node)) continue;
    if (node.name == name || QueueName(node) == name) return n;
    if (node.name.ends_with("/" + name)) last_part = n;
    known += (known.empty() ? "" : ", ") + QueueName(node);
  }
  if (last_part.exists()) return last_part;
  Throw(Code::kNotFound, "the graph has no queue '{}'; it has {}", name, known.empty() ? "none" : known);
}

bool TakesOne(const Node& node) { return WithoutVersion(node.op) == "QueueDequeue"; }
bool TakesMany(const Node& node) {
  const std::string_view op = WithoutVersion(node.op);
  return op == "QueueDequeueMany" || op == "QueueDequeueUpTo";
}
bool PutsOne(const Node& node) { return WithoutVersion(node.op) == "QueueEnqueue"; }
bool PutsMany(const Node& node) { return WithoutVersion(node.op) == "QueueEnqueueMany"; }
bool LooksOnly(const Node& node) {
  const std::string_view op = WithoutVersion(node.op);
  return op == "QueueSize" || op == "QueueIsClosed";
}

}  // namespace lanescope::study
