#include <algorithm>
#include <numeric>

#include "core/compile/draft.h"

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
    stack_.push_back(endpoint.node);
  }

  // Marks what the nodes on the stack need, without recursion.
  void Run() {
    while (!stack_.empty()) {
      const int id = stack_.back();
      stack_.pop_back();
      if (draft_.IsFolded(id)) continue;
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
  }

 private:
  Draft& draft_;
  std::vector<int> stack_;
};

// Every node uses only nodes of smaller numbers: then the numbers themselves are the topological order that
// takes the smallest number among the ready nodes.
bool IsSorted(const Graph& graph) {
  for (int id = 0; id < graph.num_nodes(); ++id) {
    const Node& node = graph.node(id);
    for (const Endpoint& input : node.inputs) {
      if (input.node >= id) return false;
    }
    for (const int control : node.control_inputs) {
      if (control >= id) return false;
    }
  }
  return true;
}

std::vector<int> AllNodes(const Graph& graph) {
  std::vector<int> nodes(static_cast<size_t>(graph.num_nodes()));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

}  // namespace

void Prune(Draft* draft) {
  Marker marker(draft);
  for (const Endpoint& fetch : draft->request.fetches) {
    marker.Need(fetch);
    marker.Run();
  }
  draft->order = IsSorted(draft->graph) ? AllNodes(draft->graph) : draft->graph.TopologicalOrder();
  std::erase_if(draft->order, [&](int id) { return !draft->IsNeeded(id); });
}

}  // namespace lanescope::compile
