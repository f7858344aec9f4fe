// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/unknown_work.h"

#include <algorithm>

#include "core/schedule/cost.h"

namespace lanescope {
namespace {

class UnknownWorkFinder {
 public:
  UnknownWorkFinder(const Graph& graph, const GraphInfo& info, const Schedule& schedule)
      : graph_(graph), info_(info), launched_(graph.num_nodes(), 0), cause_(launched_.size(), -1) {
    for (const Command& command : schedule.commands) {
      if (command.kind == CommandKind::kLaunch)
        schedule.ForNodes(command, [&](NodeId node) { launched_[node] = 1; });
    }
  }

  std::vector<UnknownWork> Run() {
    for (const NodeId id : graph_.TopologicalOrder()) Visit(id);
    std::erase_if(found_, [](const UnknownWork& work) { return work.launches + work.followers == 0; });
    return std::move(found_);
  }

 private:
  void Visit(NodeId id) {
    const Node& node = graph_.node(id);
    const bool defined = OpRegistry::Global().Find(node.op) != nullptr;
    const bool sized = AreSizesKnown(info_.outputs(id));
    const int inherited = CauseOfInputs(node);
    const bool told = defined || node.FindAttr("_lanescope_cost") != nullptr;
    if (!defined && (!told || !sized)) {
      const int own = Number(node.op, false);
      found_[static_cast<size_t>(own)].launches += launched_[id];
      if (!sized) cause_[id] = own;
    } else if (inherited >= 0) {
      found_[static_cast<size_t>(inherited)].followers += launched_[id];
      if (!sized) cause_[id] = inherited;
    } else if (!sized) {
      const int own = cause_[id] = Number(node.op, true);
      found_[static_cast<size_t>(own)].launches += launched_[id];
    }
  }

  // The cause of the first input whose size is not known; -1 where all sizes are.
  int CauseOfInputs(const Node& node) const {
    for (const Endpoint& input : node.inputs) {
      const int cause = cause_[input.node];
      if (cause >= 0 && !AreSizesKnown({&info_.of(input), 1})) return cause;
    }
    return -1;
  }

  int Number(const std::string& op, bool defined) {
    const auto same = [&](const UnknownWork& work) { return work.op == op && work.defined == defined; };
    const auto found = std::find_if(found_.begin(), found_.end(), same);
    if (found != found_.end()) return static_cast<int>(found - found_.begin());
    found_.push_back({op, defined, 0, 0});
    return static_cast<int>(found_.size()) - 1;
  }

  const Graph& graph_;
  const GraphInfo& info_;
  IdVector<NodeId, char> launched_;  // by node
  IdVector<NodeId, int> cause_;      // by node with outputs of unknown size: number in found_
  std::vector<UnknownWork> found_;
};

}  // namespace

std::vector<UnknownWork> FindUnknownWork(const Graph& graph, const GraphInfo& info,
                                         const Schedule& schedule) {
  return UnknownWorkFinder(graph, info, schedule).Run();
}

}  // namespace lanescope
