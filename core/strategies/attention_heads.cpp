// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/attention_heads.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/nearest_number.h"
#include "core/strategies/layout_rules.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {
namespace {

bool IsFusedAttention(const Node& node) { return node.op.find("ScaledDotProduct") != std::string::npos; }
bool MovesElements(const Node& node) { return node.op == "Transpose" || node.op == "Reshape"; }
bool IsProduct(const Node& node) { return node.op.find("MatMul") != std::string::npos; }

class HeadsFinder {
 public:
  HeadsFinder(const Graph& graph, const GraphInfo& info, const IdVector<NodeId, char>& nodes)
      : graph_(graph), info_(info), nodes_(nodes), fanout_(ComputeFanout(graph)) {}

  // How many heads a node makes of columns; 0: none.
  int64_t MadeBy(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.op != "Reshape") return 0;
    const Shape &from = info_.of(node.inputs[0]).shape, &to = info_.of({id, 0}).shape;
    if (!from.known_rank() || !from.IsExact() || !to.known_rank() || !to.IsExact()) return 0;
    if (from.rank() < 2 || to.rank() < 3 || to.NumElements() == 0) return 0;
    const int64_t heads = to.dim(to.rank() - 2), size = to.dim(to.rank() - 1);
    if (heads <= 1 || heads * size != from.dim(from.rank() - 1)) return 0;
    return ComesFromMatrix(id) && LeadsToAttention(id) ? heads : 0;
  }

 private:
  // The first products behind it are of activations alone. Columns that are cut before those were no heads
  // yet, as queries, keys and values that one product makes.
  bool LeadsToAttention(NodeId id) const {
    std::vector<NodeId> open{id};
    std::set<NodeId> seen;
    while (!open.empty()) {
      const NodeId at = open.back();
      open.pop_back();
      for (const NodeUse& use : fanout_[at]) {
        if (use.input < 0 || nodes_[use.node] == 0 || !seen.insert(use.node).second) continue;
        const Node& user = graph_.node(use.node);
        if (IsFusedAttention(user)) return true;
        if (!IsProduct(user)) {
          if (!CutsColumns(use.node)) open.push_back(use.node);
        } else if (!HasParameter(user)) {
          return true;
        }
      }
    }
    return false;
  }
  bool CutsColumns(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.op != "Reshape") return false;
    const Shape &from = info_.of(node.inputs[0]).shape, &to = info_.of({id, 0}).shape;
    return from.known_rank() && to.known_rank() && from.rank() > 0 && to.rank() > 0 &&
           from.dim(from.rank() - 1) > to.dim(to.rank() - 1);
  }
  // One of the last products before it is with a matrix of the model: masks and positions have none.
  bool ComesFromMatrix(NodeId id) const {
    std::vector<NodeId> open{id};
    std::set<NodeId> seen;
    while (!open.empty()) {
      const NodeId at = open.back();
      open.pop_back();
      for (const Endpoint& input : graph_.node(at).inputs) {
        if (!seen.insert(input.node).second) continue;
        const Node& before = graph_.node(input.node);
        if (ReadsShapeAlone(before)) continue;
        if (!IsProduct(before))
          open.push_back(input.node);
        else if (HasParameter(before))
          return true;
      }
    }
    return false;
  }
  bool HasParameter(const Node& product) const {
    return std::ranges::any_of(product.inputs, [&](Endpoint in) { return IsParameter(in.node); });
  }
  bool IsParameter(NodeId id) const {
    while (graph_.node(id).inputs.size() == 1 || MovesElements(graph_.node(id)))
      id = graph_.node(id).inputs[0].node;
    return IsVariableOp(graph_.node(id));
  }

  const Graph& graph_;
  const GraphInfo& info_;
  const IdVector<NodeId, char>& nodes_;
  const Fanout fanout_;
};

std::string_view ScopeOf(std::string_view name) {
  const size_t end = name.rfind('/');
  return end == std::string_view::npos ? name : name.substr(0, end);
}

}  // namespace

void CheckHeadsOfAttention(const Graph& graph, const GraphInfo& info, const IdVector<NodeId, char>& nodes,
                           int64_t devices, SplitBy by) {
  const HeadsFinder finder(graph, info, nodes);
  NodeId odd;
  int64_t most = 0, fewest = 0, divided = 0;
  for (const NodeId id : graph.node_ids()) {
    if (nodes[id] == 0) continue;
    const int64_t heads = finder.MadeBy(id);
    if (heads == 0) continue;
    divided = std::gcd(divided, heads);
    most = std::max(most, heads);
    fewest = fewest == 0 ? heads : std::min(fewest, heads);
    if (!odd.exists() && heads % devices != 0) odd = id;
  }
  if (odd.exists()) RefuseHeads(by, ScopeOf(graph.node(odd).name), most, fewest, divided, devices);
}

void RefuseHeads(SplitBy by, std::string_view name, int64_t heads, int64_t kv_heads, int64_t divided,
                 int64_t devices) {
  const int64_t nearest = NearestDivisor(divided, devices);
  if (heads == kv_heads) {
    Throw(Code::kInvalidArgument,
          "{}: the {} heads of '{}' cannot be shared out evenly over {} GPUs; the nearest number that "
          "divides them is {}",
          StrategyOf(by), heads, name, devices, nearest);
  }
  Throw(Code::kInvalidArgument,
        "{}: the {} heads of '{}' and its {} of keys and values cannot be shared out evenly over {} GPUs; "
        "the nearest number that divides both is {}",
        StrategyOf(by), heads, name, kv_heads, devices, nearest);
}

}  // namespace lanescope
