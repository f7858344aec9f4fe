#include <algorithm>

#include "core/compile/draft.h"

namespace lanescope::compile {
namespace {

class Marker {
 public:
  explicit Marker(Draft* draft) : draft_(*draft) {
    draft_.needed.assign(static_cast<size_t>(draft_.graph.num_nodes()), 0);
    draft_.has_fed_output.assign(draft_.needed.size(), 0);
    for (const auto& [endpoint, info] : draft_.request.feeds)
      draft_.has_fed_output[static_cast<size_t>(endpoint.node)] = 1;
  }

  void Need(Endpoint endpoint) {
    if (endpoint.output >= 0 && draft_.IsFed(endpoint)) return;
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
      if (draft_.IsFolded(id)) continue;
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
  std::vector<int> stack_;
};

}  // namespace

bool Draft::IsFed(Endpoint endpoint) const {
  return has_fed_output[static_cast<size_t>(endpoint.node)] &&
         std::any_of(request.feeds.begin(), request.feeds.end(),
                     [&](const auto& feed) { return feed.first == endpoint; });
}

bool Draft::IsFolded(int id) const {
  const auto outputs = info.outputs(id);
  const auto constant = [](const TensorInfo& output) { return output.value != nullptr; };
  if (outputs.empty() || !std::all_of(outputs.begin(), outputs.end(), constant) || node(id).op == "Const")
    return false;
  const OpDef* def = OpRegistry::Global().Find(node(id).op);
  return def != nullptr && !def->stateful;
}

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
