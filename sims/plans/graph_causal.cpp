// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/graph_causal.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace lanescope::sims::plans {
namespace {

bool NameHas(const Node& node, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](auto part) { return node.op.find(part) != std::string::npos; });
}
bool IsMaskEnd(const Node& node) { return NameHas(node, {"MatMul", "Einsum", "ScaledDotProduct"}); }
bool ComparesOrder(const Node& node) {
  return node.op == "Less" || node.op == "LessEqual" || node.op == "Greater" || node.op == "GreaterEqual";
}
bool HoldsVariable(const Node& node) { return node.op == "VarHandleOp" || node.op.starts_with("Variable"); }

// A mask is added to an attention's scores, or selects them.
class Mask {
 public:
  Mask(const Graph& graph, const GraphInfo& info) : graph_(graph), info_(info) {}

  bool IsCausal(NodeId attention) const {
    const Node& node = graph_.node(attention);
    if (NameHas(node, {"ScaledDotProduct"})) {
      if (node.BoolAttr("_torch_causal", true)) return true;
      constexpr size_t kMasks = 3;  // after queries, keys and values
      std::vector<NodeId> masks;
      for (size_t i = kMasks; i < node.inputs.size(); ++i) masks.push_back(node.inputs[i].node);
      return AnyIsCausal(std::move(masks));
    }
    const auto softmax = SoftmaxOf(attention);
    return !softmax || AnyIsCausal({*softmax});
  }

 private:
  std::optional<NodeId> SoftmaxOf(NodeId scores) const {
    const Fanout users = ComputeFanout(graph_);
    std::vector<NodeId> waiting = {scores};
    std::set<NodeId> seen;
    for (size_t i = 0; i < waiting.size(); ++i) {
      for (const NodeUse& use : users[waiting[i]]) {
        const Node& user = graph_.node(use.node);
        if (use.input < 0 || IsMaskEnd(user) || !seen.insert(use.node).second) continue;
        if (NameHas(user, {"Softmax"})) return use.node;
        waiting.push_back(use.node);
      }
    }
    return std::nullopt;
  }

  // Up to products, which numbers of the model come from.
  bool AnyIsCausal(std::vector<NodeId> waiting) const {
    std::set<NodeId> seen;
    while (!waiting.empty()) {
      const NodeId id = waiting.back();
      waiting.pop_back();
      const Node& node = graph_.node(id);
      if (IsMaskEnd(node) || !seen.insert(id).second) continue;
      if (NameHas(node, {"MatrixBandPart", "Tril", "Triu"})) return true;
      if (ComparesOrder(node) && IsOfPositions(node.inputs[0]) && IsOfPositions(node.inputs[1])) return true;
      if ((node.op == "Const" || HoldsVariable(node)) && MayBeTriangle(node, id)) return true;
      for (const Endpoint& in : node.inputs) waiting.push_back(in.node);
    }
    return false;
  }

  // Numbers from a Range, moved at most.
  bool IsOfPositions(Endpoint of) const {
    std::vector<NodeId> waiting = {of.node};
    std::set<NodeId> seen;
    bool ranges = false;
    while (!waiting.empty()) {
      const NodeId id = waiting.back();
      waiting.pop_back();
      if (!seen.insert(id).second) continue;
      const Node& node = graph_.node(id);
      static constexpr std::string_view kMoves[] = {"Reshape",  "ExpandDims",  "Squeeze",     "Cast",
                                                    "Identity", "BroadcastTo", "Transpose",   "Tile",
                                                    "AddV2",    "Sub",         "StridedSlice"};
      const bool moves = std::ranges::find(kMoves, node.op) != std::end(kMoves);
      if (node.op == "Range") {
        ranges = true;
      } else if (moves) {
        const bool is_sum = node.op == "AddV2" || node.op == "Sub";
        waiting.push_back(node.inputs[0].node);
        if (is_sum) waiting.push_back(node.inputs[1].node);
      } else if (node.op != "Const" && node.op != "Fill") {
        return false;
      }
    }
    return ranges;
  }

  // A square of tokens whose numbers above the diagonal are others than below, or are not known.
  bool MayBeTriangle(const Node& node, NodeId id) const {
    const Tensor* value = ValueOf(node, id);
    const Shape shape = value != nullptr ? value->shape() : node.GetShapeAttr("shape");
    if (!shape.known_rank() || !shape.IsExact() || shape.rank() < 2) return false;
    const int64_t size = shape[shape.rank() - 1];
    if (size < 2 || shape[shape.rank() - 2] != size) return false;
    if (value == nullptr) return true;
    const size_t bytes = ElementSize(value->dtype());
    if (bytes == 0) return false;
    const auto* data = static_cast<const std::byte*>(value->raw_data());
    const auto same = [&](int64_t a, int64_t b) {
      return std::memcmp(data + static_cast<size_t>(a) * bytes, data + static_cast<size_t>(b) * bytes,
                         bytes) == 0;
    };
    for (int64_t row = 0; row < size; ++row) {
      for (int64_t column = 0; column < size; ++column) {
        if (!same(row * size + column, column > row ? 1 : 0)) return false;
      }
    }
    return !same(0, 1);
  }

  // A variable has what it begins with.
  const Tensor* ValueOf(const Node& node, NodeId id) const {
    if (node.op == "Const") return info_.of({id, 0}).value.get();
    for (const Node& other : graph_.nodes()) {
      const bool is_init = other.op == "AssignVariableOp" || other.op == "Assign";
      if (is_init && other.inputs[0].node == id && graph_.node(other.inputs[1].node).op == "Const")
        return info_.of(other.inputs[1]).value.get();
    }
    return nullptr;
  }

  const Graph& graph_;
  const GraphInfo& info_;
};

}  // namespace

bool IsCausal(const Graph& graph, const GraphInfo& info, NodeId attention) {
  return Mask(graph, info).IsCausal(attention);
}

}  // namespace lanescope::sims::plans
