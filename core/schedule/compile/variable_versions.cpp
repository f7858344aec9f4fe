// SPDX-License-Identifier: Apache-2.0
// Which version of a variable each node reads. Version 0 is the content at the start of the step, version k
// that after the k-th update. A node reads the old version unless it depends on the update. The rule is
// applied to the nodes, before any of them has a device, so that the versions, and with them every result,
// are the same under all placements.

#include <algorithm>
#include <queue>

#include "core/base/stop_point.h"
#include "core/schedule/compile/draft.h"
#include "core/schedule/compile/reachability.h"

namespace lanescope::compile {
namespace {

struct Accesses {
  std::vector<NodeId> readers;
  std::vector<NodeId> updates;
};

class VersionCounter {
 public:
  explicit VersionCounter(Draft* draft)
      : draft_(*draft), carried_(draft->graph.num_nodes()), version_(carried_.size(), 0) {}

  void Run() {
    if (std::none_of(draft_.order.begin(), draft_.order.end(), [&](NodeId id) { return MayUpdate(id); }))
      return;
    for (const NodeId id : draft_.order) {
      StopPoint();
      FindAccesses(id);
    }
    std::erase_if(accesses_, [](const auto& entry) { return entry.second.updates.empty(); });
    if (accesses_.empty()) return;
    FindEdges();
    for (auto& [variable, accesses] : accesses_) Order(variable, &accesses);
  }

 private:
  bool MayUpdate(NodeId id) const {
    const OpDef* def = draft_.op(id).def;
    return def != nullptr && !def->updates.empty();
  }

  // The variable whose memory an output shows: that of a variable node, of an alias of it, or of an update
  // that returns its reference.
  NodeId CarriedVariable(const Node& node, const OpDef& def, NodeId id) const {
    if (def.role == StateRole::kVariable) return id;
    const bool carries = def.alias == AliasRule::kInput0 ||
                         (def.role == StateRole::kUpdate && !def.outputs.empty() && def.outputs[0].is_ref);
    return carries && !node.inputs.empty() ? Carried(node.inputs[0]) : NodeId();
  }

  NodeId Carried(Endpoint input) const { return draft_.IsFed(input) ? NodeId() : carried_[input.node]; }

  void FindAccesses(NodeId id) {
    const Node& node = draft_.node(id);
    const OpTraits& op = draft_.op(id);
    if (draft_.IsFolded(id)) return;
    // An op that is unknown here reads what it is given.
    if (op.def != nullptr) carried_[id] = CarriedVariable(node, *op.def, id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeId variable = Carried(node.inputs[i]);
      if (!variable.exists()) continue;
      auto& list = op.Updates(i) ? accesses_[variable].updates : accesses_[variable].readers;
      if (list.empty() || list.back() != id) list.push_back(id);
    }
  }

  void FindEdges() {
    for (const NodeId id : draft_.order) {
      const Node& node = draft_.node(id);
      for (const Endpoint& input : node.inputs) {
        if (!draft_.IsFed(input)) AddEdge(input.node, id);
      }
      for (const NodeId control : node.control_inputs) AddEdge(control, id);
    }
  }

  void AddEdge(NodeId from, NodeId to) {
    if (!draft_.IsNeeded(from)) return;
    after_.AddEdge(from, to);
    edges_.emplace_back(from, to);
  }

  void Order(NodeId variable, Accesses* accesses) {
    auto& updates = accesses->updates;
    if (updates.size() > 1) {
      const auto position = Positions();
      std::sort(updates.begin(), updates.end(),
                [&](NodeId a, NodeId b) { return position[a] < position[b]; });
    }
    for (size_t u = 1; u < updates.size(); ++u) AddEdge(updates[u - 1], updates[u]);
    // The updates are a chain: what depends on one depends on all before it. So a reader's version is found
    // from the last update on, looking at everything once, and one edge keeps it before all later updates.
    for (const NodeId reader : accesses->readers) version_[reader] = 0;
    after_.Forget();
    for (size_t u = updates.size(); u-- > 0;) {
      after_.MarkMore(updates[u], [&](NodeId id) { version_[id] = u + 1; });
    }
    for (const NodeId reader : accesses->readers) {
      const size_t version = version_[reader];
      if (version > 0) draft_.versions[{reader, variable}] = static_cast<int>(version);
      if (version < updates.size() && reader != updates[version]) AddEdge(reader, updates[version]);
    }
    draft_.updates[variable] = updates;
  }

  // Places in a topological order of the nodes, the smallest id first among the ready ones, under all edges
  // found so far.
  IdVector<NodeId, int> Positions() const {
    const size_t count = carried_.size();
    IdVector<NodeId, int> waiting(count, 0), position(count, -1);
    IdVector<NodeId, std::vector<NodeId>> successors(count);
    for (const auto& [from, to] : edges_) {
      ++waiting[to];
      successors[from].push_back(to);
    }
    std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
    for (const NodeId id : draft_.order) {
      if (waiting[id] == 0) ready.push(id);
    }
    for (int next = 0; !ready.empty(); ++next) {
      const NodeId id = ready.top();
      ready.pop();
      position[id] = next;
      for (const NodeId successor : successors[id]) {
        if (--waiting[successor] == 0) ready.push(successor);
      }
    }
    return position;
  }

  Draft& draft_;
  IdVector<NodeId, NodeId> carried_;     // by node: the variable that its output 0 shows
  IdVector<NodeId, size_t> version_;     // by node: of the variable that is being looked at
  std::map<NodeId, Accesses> accesses_;  // by variable
  std::vector<std::pair<NodeId, NodeId>> edges_;
  Reachability<NodeId> after_{carried_.size()};
};

}  // namespace

void NumberVersions(Draft* draft) { VersionCounter(draft).Run(); }

}  // namespace lanescope::compile
