#include <algorithm>

#include "core/compile/draft.h"

namespace lanescope::compile {
namespace {

bool IsFed(const Draft& draft, Endpoint endpoint) {
  for (const auto& [fed, info] : draft.request.feeds) {
    if (fed == endpoint) return true;
  }
  return false;
}

// A node all of whose data outputs are constant needs none of its inputs.
bool IsFolded(const Draft& draft, int id) {
  const auto outputs = draft.info.outputs(id);
  if (outputs.empty() || draft.node(id).op == "Const") return false;
  const OpDef* def = OpRegistry::Global().Find(draft.node(id).op);
  if (def == nullptr || def->stateful) return false;
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const TensorInfo& info) { return info.value != nullptr; });
}

class Marker {
 public:
  explicit Marker(Draft* draft) : draft_(*draft) {
    draft_.needed.assign(static_cast<size_t>(draft_.graph.num_nodes()), 0);
    fed_nodes_.assign(draft_.needed.size(), 0);
    for (const auto& [endpoint, info] : draft_.request.feeds)
      fed_nodes_[static_cast<size_t>(endpoint.node)] = 1;
  }

  void Need(Endpoint endpoint) {
    if (endpoint.output >= 0 && fed_nodes_[static_cast<size_t>(endpoint.node)] && IsFed(draft_, endpoint))
      return;
    auto& mark = draft_.needed[static_cast<size_t>(endpoint.node)];
    if (mark) return;
    mark = 1;
    stack_.push_back(endpoint.node);
  }

  // Marks in post-order, so that the result is topological, without recursion.
  void Run() {
    while (!stack_.empty()) {
      const int id = stack_.back();
      stack_.pop_back();
      if (IsFolded(draft_, id)) continue;
      const Node& node = draft_.node(id);
      for (const Endpoint& input : node.inputs) {
        const TensorInfo& info = draft_.info.of(input);
        // A constant is materialised where it is used; its producer need not run. Float constants live where
        // they were placed.
        if (info.value != nullptr && draft_.node(input.node).op != "Const") continue;
        Need(input);
      }
      for (const int control : node.control_inputs) Need({control, -1});
    }
  }

 private:
  Draft& draft_;
  std::vector<char> fed_nodes_;
  std::vector<int> stack_;
};

}  // namespace

void Prune(Draft* draft) {
  Marker marker(draft);
  for (const Endpoint& fetch : draft->request.fetches) {
    marker.Need(fetch);
    marker.Run();
  }
  for (const int id : draft->graph.TopologicalOrder()) {
    if (draft->needed[static_cast<size_t>(id)]) draft->order.push_back(id);
  }
}

}  // namespace lanescope::compile
