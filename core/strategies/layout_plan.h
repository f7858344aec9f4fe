// SPDX-License-Identifier: Apache-2.0
// How every tensor of a step lies on the devices that share its model. Internal to core.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/graph/op.h"
#include "core/strategies/collective_members.h"
#include "core/strategies/layout_rules.h"
#include "core/strategies/ring_order.h"

namespace lanescope {

// Layouts go from inputs to outputs, from the first op of the step to its last. Where an op meets a variable
// that nobody has cut, it cuts it as suits it best: a product of a whole tensor by columns, one of a tensor
// in parts by rows (Shoeybi et al., "Megatron-LM", 2019). What is whole and is read in parts is made in parts
// when all is gone through again. All must outlive it.
class LayoutPlan {
 public:
  // All that a plan is made for.
  struct Goal {
    int64_t devices = 2;
    SplitBy by = SplitBy::kMatrices;
    RingOrder order = RingOrder::kInARow;  // of tokens
    // By tokens: the parts of feeds that their readers take.
    std::map<NodeId, Layout> feeds = {};
    // Outputs of nodes whose terms somebody adds up on the way.
    std::map<NodeId, Layout> given = {};
    // Several groups of so many devices make the same plan, each of its part of the graph: a collective that
    // joins the groups is one at each place.
    bool joins_groups = false;
    // By matrices and tokens: the plan by tokens alone, whose layouts hold between the matrices.
    const LayoutPlan* tokens = nullptr;
  };
  // `nodes`: those of the step, by node. Throws InvalidArgument where heads do not divide.
  LayoutPlan(const Graph& graph, const GraphInfo& info, const IdVector<NodeId, char>& nodes, Goal goal);

  // A handle lies as its variable does.
  Layout of(Endpoint tensor) const;
  // How a node of the step is computed.
  LayoutChoice of(NodeId node) const;
  // It runs once, and not on every device: inputs, what has a state of its own, what has to be on the host.
  bool IsOnce(NodeId node) const { return once_[node] != 0; }
  bool HasPartsOfVariables() const;
  SplitBy by() const { return goal_.by; }
  RingOrder order() const { return goal_.order; }
  const std::map<NodeId, Layout>& feeds() const { return goal_.feeds; }

 private:
  using Key = std::pair<NodeId, int>;

  void PutComputedOfVariablesLast();
  void FindCuttable(const Fanout& fanout);
  void GoThrough();
  void Decide(NodeId id);
  bool RunsOnce(NodeId id) const;
  // As the first member of its collective.
  LayoutChoice Joined(NodeId id);
  LayoutChoice Best(NodeId id) const;
  std::vector<Layout> LayoutsRead(NodeId id) const;
  // That the plan by tokens has, of a node that reads tokens or terms.
  void AddChoiceByTokens(NodeId id, const std::vector<Layout>& layouts,
                         std::vector<LayoutChoice>* choices) const;
  // Into how many equal pieces an axis is cut.
  int64_t Pieces() const { return goal_.devices * static_cast<int64_t>(PiecesOf(goal_.order)); }
  LayoutQuery QueryOf(NodeId id, const std::vector<Layout>& layouts) const;
  LayoutChoice UpdateOf(NodeId id) const;
  // Bytes of cut variables that become whole, which is the last thing to do, and bytes moved in all.
  std::pair<int64_t, int64_t> CostOf(NodeId id, const LayoutChoice& choice) const;
  bool CutsOpenMatrix(NodeId id, const LayoutChoice& choice) const;
  void Settle(Endpoint tensor, const Layout& layout);
  void Ask(Endpoint tensor, const Layout& layout);
  bool EveryReaderTakes(Endpoint tensor, const Layout& layout) const;
  int64_t SegmentsBehind(NodeId product) const;
  // The variable whose value this is, perhaps turned or of another type; none: it is something else.
  NodeId VariableBehind(Endpoint tensor) const;
  bool IsOpen(Endpoint tensor) const;
  const TensorInfo& InfoOf(Endpoint tensor) const;
  std::vector<TensorInfo> InputsOf(NodeId id) const;

  const Graph& graph_;
  const GraphInfo& info_;
  const IdVector<NodeId, char>& nodes_;
  const Goal goal_;
  const Fanout fanout_;
  const CollectiveMembers members_;
  std::vector<NodeId> order_;
  IdVector<NodeId, char> once_;
  std::set<NodeId> cuttable_;
  std::map<NodeId, Layout> settled_;  // by variable
  std::set<NodeId> joined_;           // collectives whose first member has chosen, by that
  IdVector<NodeId, LayoutChoice> choices_;
  std::map<Key, std::set<Layout>> asked_;
  std::set<std::pair<Key, Layout>> made_;  // in which tensors are read already
  bool asks_more_ = false;
};

// The graph puts it on the CPU, where it stays.
bool IsOnHost(const Node& node);

// Bytes that a tensor of so many moves, on its way from one layout to another; none where there is no way.
std::optional<int64_t> BytesMoved(const Layout& from, const Layout& to, int64_t bytes);

}  // namespace lanescope
