// SPDX-License-Identifier: Apache-2.0
#include "core/expand/partitions.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/graph/validate.h"

namespace lanescope {
namespace {

bool IsSend(const Node& node) { return node.op == "_Send" || node.op == "_HostSend"; }
bool IsReceive(const Node& node) { return node.op == "_Recv" || node.op == "_HostRecv"; }
bool IsEdgeOfStep(const Node& node) { return node.op == "_Arg" || node.op == "_Retval"; }

using Transfer = std::tuple<std::string, std::string, int64_t, std::string>;

Transfer TransferOf(const Node& node) {
  return {node.StringAttr("send_device"), node.StringAttr("recv_device"),
          node.IntAttr("send_device_incarnation", 0), node.StringAttr("tensor_name")};
}

struct Ends {
  std::vector<NodeId> sends, receives;
};

// The receive gives what is sent; it is on the device that it was on.
void Join(Graph* graph, NodeId send, NodeId receive) {
  Node& from = graph->node(send);
  Node& to = graph->node(receive);
  const DataType type = to.TypeAttr("tensor_type");
  to.op = "Identity";
  to.attrs = {{"T", type}};
  to.inputs = from.inputs;
  from.op = "NoOp";
  from.attrs.clear();
  for (const Endpoint& input : from.inputs) {
    if (std::find(from.control_inputs.begin(), from.control_inputs.end(), input.node) ==
        from.control_inputs.end())
      from.control_inputs.push_back(input.node);
  }
  from.inputs.clear();
}

void ReplaceEdgeOfStep(Node* node) {
  const DataType type = node->TypeAttr("T");
  if (node->op == "_Arg") {
    node->op = "Placeholder";
    node->attrs = {{"dtype", type}, {"shape", ShapeAttr{Shape::Unknown(), ""}}};
  } else {
    node->op = "Identity";
    node->attrs = {{"T", type}};
  }
}

}  // namespace

bool HasPartitions(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const Node& node) { return IsSend(node) || IsReceive(node) || IsEdgeOfStep(node); });
}

Graph PartitionsJoined(Graph graph) {
  std::map<Transfer, Ends> transfers;
  for (const NodeId id : graph.node_ids()) {
    Node& node = graph.node(id);
    if (graph.problems.contains(id)) continue;
    if (IsEdgeOfStep(node)) ReplaceEdgeOfStep(&node);
    if (IsSend(node)) transfers[TransferOf(node)].sends.push_back(id);
    if (IsReceive(node)) transfers[TransferOf(node)].receives.push_back(id);
  }
  for (const auto& [transfer, ends] : transfers) {
    if (ends.sends.size() != 1 || ends.receives.size() != 1) continue;
    const Node& send = graph.node(ends.sends[0]);
    if (send.TypeAttr("T") == graph.node(ends.receives[0]).TypeAttr("tensor_type"))
      Join(&graph, ends.sends[0], ends.receives[0]);
  }
  NoteProblems(&graph);
  return graph;
}

}  // namespace lanescope
