// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/schedule/compile/draft.h"

namespace lanescope::compile {
namespace {

// Marks nodes backwards from the fetches. A node that computes and changes nothing runs only where its value
// is read or where the step asks for it: fetched, or grouped by a NoOp that is. (Gradients group all
// gradients of an op, those that nobody reads too; TensorFlow drops these as well.) Otherwise whoever waits
// for it waits for its inputs.
class Marker {
 public:
  explicit Marker(Draft* draft) : draft_(*draft), no_op_(draft->op_table.Of(NoOpName())) {
    const auto nodes = draft_.graph.num_nodes();
    draft_.ops.assign(nodes, nullptr);
    draft_.has_fed_output.assign(nodes, 0);
    draft_.folded.assign(nodes, 0);
    computed_.assign(nodes, 0);
    asked_.assign(nodes, 0);
    for (const auto& [endpoint, info] : draft_.request.feeds) draft_.has_fed_output[endpoint.node] = 1;
  }

  void Ask(Endpoint endpoint) { Compute(endpoint, true); }

  void NeedSources(NodeId id) {
    const Node& node = draft_.node(id);
    draft_.folded[id] = !computed_[id] || IsFolded(draft_.op(id), draft_.info.outputs(id));
    if (draft_.IsFolded(id)) {
      for (const Endpoint& input : node.inputs) {
        if (draft_.IsKnown(input)) Need(input);
      }
      for (const NodeId control : node.control_inputs) Compute({control, -1}, false);
      return;
    }
    const bool asked = asked_[id] != 0;
    const bool runs = asked || !draft_.op(id).IsPure();
    if (!runs) draft_.ops[id] = &no_op_;
    for (const Endpoint& input : node.inputs) {
      // A constant is materialised where it is used; its producer need not run. Float constants live where
      // they were placed.
      if (draft_.IsKnown(input) && draft_.node(input.node).op != "Const") {
        Need(input);
      } else {
        Compute(input, runs);
      }
    }
    const bool group = asked && draft_.op(id).op_class == OpClass::kNoOp;
    for (const NodeId control : node.control_inputs) Compute({control, -1}, group);
  }

 private:
  // The table keeps the name.
  static const std::string& NoOpName() {
    static const std::string name = "NoOp";
    return name;
  }

  // Its known value, and with it that what it waits for is done.
  void Need(Endpoint endpoint) {
    const NodeId node = endpoint.node;
    if (endpoint.output >= 0 && draft_.IsFed(endpoint)) return;
    if (!draft_.IsNeeded(node)) draft_.ops[node] = &draft_.op_table.Of(draft_.node(node).op);
  }

  void Compute(Endpoint endpoint, bool asked) {
    if (endpoint.output >= 0 && draft_.IsFed(endpoint)) return;
    Need(endpoint);
    computed_[endpoint.node] = 1;
    if (asked) asked_[endpoint.node] = 1;
  }

  Draft& draft_;
  const OpTraits& no_op_;
  IdVector<NodeId, char> computed_;  // by node: more of it is needed than values that are known
  IdVector<NodeId, char> asked_;     // by node
};

}  // namespace

void Prune(Draft* draft) {
  Marker marker(draft);
  for (const Endpoint& fetch : draft->request.fetches) marker.Ask(fetch);
  draft->order = draft->graph.TopologicalOrder();
  // All users of a node have been seen when its own turn comes.
  for (auto id = draft->order.rbegin(); id != draft->order.rend(); ++id) {
    if (draft->IsNeeded(*id)) marker.NeedSources(*id);
  }
  for (const auto& [id, problem] : draft->graph.problems) {
    if (draft->IsNeeded(id)) throw problem;
  }
  std::erase_if(draft->order, [&](NodeId id) { return !draft->IsNeeded(id); });
}

}  // namespace lanescope::compile
