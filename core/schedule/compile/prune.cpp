#include <algorithm>

#include "core/schedule/compile/draft.h"

namespace lanescope::compile {
namespace {

class Marker {
 public:
  explicit Marker(Draft* draft) : draft_(*draft) {
    const auto nodes = static_cast<size_t>(draft_.graph.num_nodes());
    draft_.ops.assign(nodes, nullptr);
    draft_.has_fed_output.assign(nodes, 0);
    for (const auto& [endpoint, info] : draft_.request.feeds)
      draft_.has_fed_output[static_cast<size_t>(endpoint.node)] = 1;
  }

  void Need(Endpoint endpoint) {
    if (draft_.IsNeeded(endpoint.node) || (endpoint.output >= 0 && draft_.IsFed(endpoint))) return;
    draft_.ops[static_cast<size_t>(endpoint.node)] = &draft_.op_table.Of(draft_.node(endpoint.node).op);
  }

  void NeedSources(int id) {
    if (draft_.IsFolded(id)) return;
    const Node& node = draft_.node(id);
    for (const Endpoint& input : node.inputs) {
      if (draft_.IsNeeded(input.node)) continue;
      const TensorInfo& info = draft_.info.of(input);
      // A constant is materialised where it is used; its producer need not run. Float constants live where
      // they were placed.
      if (info.value != nullptr && draft_.node(input.node).op != "Const") continue;
      Need(input);
    }
    for (const int control : node.control_inputs) Need({control, -1});
  }

 private:
  Draft& draft_;
};

}  // namespace

void Prune(Draft* draft) {
  Marker marker(draft);
  for (const Endpoint& fetch : draft->request.fetches) marker.Need(fetch);
  draft->order = draft->graph.TopologicalOrder();
  // All users of a node have been seen when its own turn comes.
  for (auto id = draft->order.rbegin(); id != draft->order.rend(); ++id) {
    if (draft->IsNeeded(*id)) marker.NeedSources(*id);
  }
  for (const auto& [id, problem] : draft->graph.problems) {
    if (draft->IsNeeded(id)) throw problem;
  }
  std::erase_if(draft->order, [&](int id) { return !draft->IsNeeded(id); });
}

}  // namespace lanescope::compile
