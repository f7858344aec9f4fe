// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/attention_region.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/strategies/layout_lookups.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {
namespace {

bool IsBatchProduct(const Node& node) { return node.op == "BatchMatMulV2" || node.op == "BatchMatMul"; }
bool TurnsFirst(const Node& node) { return node.BoolAttr("adj_x", false); }
bool TurnsSecond(const Node& node) { return node.BoolAttr("adj_y", false); }

class AttentionFinder {
 public:
  AttentionFinder(const Graph& graph, const GraphInfo& info, const IdVector<NodeId, char>& step,
                  const LayoutPlan& plan)
      : graph_(graph),
        info_(info),
        step_(step),
        plan_(plan),
        fanout_(ComputeFanout(graph)),
        place_(graph.num_nodes(), 0) {
    size_t next = 0;
    for (const NodeId id : graph.TopologicalOrder()) place_[id] = next++;
  }

  std::vector<Attention> Run() {
    std::vector<Attention> found;
    for (const NodeId id : graph_.TopologicalOrder()) {
      if (step_[id] == 0 || !IsBatchProduct(graph_.node(id))) continue;
      if (std::optional<Attention> attention = From(id)) found.push_back(std::move(*attention));
    }
    return found;
  }

 private:
  using Kind = AttentionTensor;
  static constexpr int kDeepest = 4;

  const Shape& ShapeOf(Endpoint of) const { return info_.of(of).shape; }
  Layout RowsOf(Endpoint of) const { return InParts(ShapeOf(of).rank() - 2); }

  // Scores of tokens in parts with those of all: [..., queries, keys].
  std::optional<Attention> From(NodeId scores) {
    const Node& node = graph_.node(scores);
    const Shape& shape = ShapeOf({scores, 0});
    if (!shape.known_rank() || !shape.IsExact() || shape.rank() < 3) return std::nullopt;
    const LayoutChoice choice = plan_.of(scores);
    const Endpoint queries = node.inputs[0], keys = node.inputs[1];
    const int last = shape.rank() - 1;
    if (TurnsFirst(node) || choice.outputs.empty() || choice.outputs[0] != InParts(last - 1) ||
        !choice.inputs[1].whole() || plan_.of(keys) != InParts(TurnsSecond(node) ? last - 1 : last))
      return std::nullopt;
    a_ = {};
    a_.scores = scores;
    a_.queries = queries;
    a_.keys = keys;
    rows_ = shape.dim(last - 1);
    columns_ = shape.dim(last);
    open_.clear();
    leads_.clear();
    a_.tensors[scores] = Kind::kScores;
    Open(scores);
    if (!Grow(false) || !a_.softmax.exists()) return std::nullopt;
    if (!late_.empty() && !(FindGradients() && Grow(true))) return std::nullopt;
    return IsWhole() ? std::optional(std::move(a_)) : std::nullopt;
  }

  // Readers of a node, to be looked at in order. Whoever waits for it without reading it, as a group of
  // gradients does for all of them, waits for what is left of it: it changes nothing.
  void Open(NodeId id) {
    for (const NodeUse& use : fanout_[id]) {
      if (step_[use.node] != 0 && use.input >= 0) open_[place_[use.node]] = use.node;
    }
  }

  // Forward, what reads scores or probabilities but on the way to the result comes later.
  bool Grow(bool backward) {
    if (backward) {
      for (const NodeId id : late_) open_[place_[id]] = id;
      Open(a_.gradients);
    }
    late_.clear();
    while (!open_.empty()) {
      const NodeId id = open_.begin()->second;
      open_.erase(open_.begin());
      if (a_.tensors.contains(id) || IsEnd(id)) continue;
      const std::optional<Kind> kind = backward ? KindBackward(id) : KindForward(id);
      if (kind) {
        a_.tensors[id] = *kind;
        if (*kind == Kind::kScores) (backward ? a_.behind : a_.before).push_back(id);
        if (*kind == Kind::kGradients) a_.behind.push_back(id);
        if (*kind != Kind::kShape) Open(id);
      } else if (!IsEnd(id)) {
        if (!ReadsBlocks(id) || backward) {
          if (!IsUnread(id, kDeepest)) return false;
          a_.tensors[id] = Kind::kUnread;
          Open(id);
          continue;
        }
        late_.push_back(id);
      }
    }
    return true;
  }
  bool IsEnd(NodeId id) const {
    return id == a_.result || id == a_.of_values || id == a_.of_queries || id == a_.of_keys;
  }

  // Somebody waits for it and nobody reads it, as for the gradient of a mask that is a constant.
  bool IsUnread(NodeId id, int depth) const {
    bool is_needed = false;
    for (const NodeUse& use : fanout_[id]) {
      if (step_[use.node] == 0) continue;
      is_needed = true;
      if (use.input >= 0 && (depth == 0 || !IsUnread(use.node, depth - 1))) return false;
    }
    return is_needed;
  }

  std::optional<Kind> KindOf(Endpoint of) const {
    const auto found = a_.tensors.find(of.node);
    return found == a_.tensors.end() ? std::nullopt : std::optional(found->second);
  }
  bool Is(Endpoint of, Kind kind) const { return KindOf(of) == kind; }
  bool ReadsBlocks(NodeId id) const {
    return std::ranges::any_of(graph_.node(id).inputs, [&](Endpoint in) {
      return Is(in, Kind::kProbabilities) || Is(in, Kind::kScores);
    });
  }
  bool HasRowsAndColumns(Endpoint of) const {
    const Shape& shape = ShapeOf(of);
    return shape.known_rank() && shape.IsExact() && shape.rank() >= 2 &&
           shape.dim(shape.rank() - 2) == rows_ && shape.dim(shape.rank() - 1) == columns_;
  }
  // The axes before rows and columns are taken apart or together.
  bool KeepsRowsAndColumns(NodeId id) const {
    return graph_.node(id).op == "Reshape" && HasRowsAndColumns(graph_.node(id).inputs[0]) &&
           HasRowsAndColumns({id, 0});
  }
  bool TreatsAlike(NodeId id) const {
    const Node& node = graph_.node(id);
    return (IsElementwise(node) || node.op == "SelectV2" || node.op == "Sub" || node.op == "Mul" ||
            node.op == "AddV2") &&
           HasRowsAndColumns({id, 0});
  }
  // Nothing else, or the last axis, which stays.
  std::optional<bool> SumsRows(NodeId id) const {
    const Node& node = graph_.node(id);
    const auto axes = NumbersOf(info_.of(node.inputs[1]));
    const int rank = ShapeOf(node.inputs[0]).rank();
    if (ShapeOf({id, 0}).rank() == rank && !node.BoolAttr("keep_dims", false)) return false;
    if (!axes) return std::nullopt;
    if (axes->empty()) return false;
    const bool is_last = axes->size() == 1 && (axes->front() == -1 || axes->front() == rank - 1);
    return is_last && node.BoolAttr("keep_dims", false) ? std::optional(true) : std::nullopt;
  }

  std::optional<Kind> KindForward(NodeId id) {
    const Node& node = graph_.node(id);
    if (ReadsShapeAlone(node)) return Kind::kShape;
    const std::vector<Endpoint>& in = node.inputs;
    if (node.op == "Softmax" && Is(in[0], Kind::kScores) && !a_.softmax.exists()) {
      a_.softmax = id;
      return Kind::kProbabilities;
    }
    if (node.op == "Max" && Is(in[0], Kind::kScores) && SumsRows(id) == true) return Kind::kGreatest;
    if (node.op == "Equal" && (Is(in[0], Kind::kGreatest) || Is(in[1], Kind::kGreatest)))
      return Kind::kIsHidden;
    if (node.op == "SelectV2" && Is(in[0], Kind::kIsHidden) && Is(in[2], Kind::kProbabilities))
      return Kind::kProbabilities;
    if (IsBatchProduct(node) && Is(in[0], Kind::kProbabilities) && !TurnsFirst(node) && !KindOf(in[1]) &&
        !a_.result.exists()) {
      a_.result = id;
      a_.values = in[1];
      return std::nullopt;
    }
    if (KeepsRowsAndColumns(id)) {
      const bool is_late = Is(in[0], Kind::kScores) && !LeadsToSoftmax(id);
      return is_late ? std::nullopt : KindOf(in[0]);
    }
    const bool of_scores =
        std::ranges::all_of(in, [&](Endpoint each) { return !KindOf(each) || Is(each, Kind::kScores); });
    return of_scores && TreatsAlike(id) && LeadsToSoftmax(id) ? std::optional(Kind::kScores) : std::nullopt;
  }
  // Gradients that read scores do not.
  bool LeadsToSoftmax(NodeId id) {
    if (const auto known = leads_.find(id); known != leads_.end()) return known->second;
    bool leads = false;
    for (const NodeUse& use : fanout_[id]) {
      if (step_[use.node] == 0 || use.input < 0 || leads) continue;
      leads = graph_.node(use.node).op == "Softmax" ||
              ((TreatsAlike(use.node) || KeepsRowsAndColumns(use.node)) && LeadsToSoftmax(use.node));
    }
    return leads_[id] = leads;
  }

  // By the gradient of values, which tells that of the result, and by whom that meets the values.
  bool FindGradients() {
    for (const NodeId id : late_) {
      const Node& node = graph_.node(id);
      if (!IsBatchProduct(node) || !Is(node.inputs[0], Kind::kProbabilities) || !TurnsFirst(node)) continue;
      if (a_.of_values.exists() || TurnsSecond(node)) return false;
      a_.of_values = id;
      a_.gradient = node.inputs[1];
    }
    if (!a_.of_values.exists()) return false;
    for (const NodeUse& use : fanout_[a_.gradient.node]) {
      const Node& node = graph_.node(use.node);
      if (use.input != 0 || use.output != a_.gradient.output || step_[use.node] == 0 ||
          !IsBatchProduct(node) || TurnsFirst(node) || !HasRowsAndColumns({use.node, 0}) ||
          KindOf(node.inputs[1]))
        continue;
      if (a_.result.exists() && node.inputs[1] != a_.values) continue;
      a_.gradients = use.node;
      a_.values = node.inputs[1];
    }
    if (!a_.gradients.exists()) return false;
    a_.tensors[a_.gradients] = Kind::kGradients;
    return true;
  }

  // Gradients as they are, or summed by row when they are times probabilities.
  std::optional<Kind> KindOfSum(NodeId id) const {
    const std::optional<bool> sums = SumsRows(id);
    if (!sums) return std::nullopt;
    if (!*sums) return HasRowsAndColumns({id, 0}) ? std::optional(Kind::kGradients) : std::nullopt;
    const Node& times = graph_.node(graph_.node(id).inputs[0].node);
    const auto are = [&](size_t gradients, size_t probabilities) {
      return Is(times.inputs[gradients], Kind::kGradients) &&
             Is(times.inputs[probabilities], Kind::kProbabilities);
    };
    const bool of_probabilities = times.op == "Mul" && (are(0, 1) || are(1, 0));
    return of_probabilities ? std::optional(Kind::kRowSums) : std::nullopt;
  }

  std::optional<Kind> KindBackward(NodeId id) {
    const Node& node = graph_.node(id);
    if (ReadsShapeAlone(node)) return Kind::kShape;
    const std::vector<Endpoint>& in = node.inputs;
    if (IsBatchProduct(node)) {
      const bool first = Is(in[0], Kind::kGradients), second = Is(in[1], Kind::kGradients);
      if (first && !TurnsFirst(node) && in[1] == a_.keys && !a_.of_queries.exists()) a_.of_queries = id;
      const bool sums_rows = (first && TurnsFirst(node) && !TurnsSecond(node) && !KindOf(in[1])) ||
                             (second && !TurnsSecond(node) && !KindOf(in[0]));
      if (sums_rows && !a_.of_keys.exists()) {
        a_.of_keys = id;
        a_.keys_are_turned = second;
      }
      return std::nullopt;
    }
    if (node.op == "Sum" && Is(in[0], Kind::kGradients)) return KindOfSum(id);
    if (KeepsRowsAndColumns(id) && Is(in[0], Kind::kGradients)) return Kind::kGradients;
    const bool has_some = std::ranges::any_of(
        in, [&](Endpoint each) { return Is(each, Kind::kGradients) || Is(each, Kind::kRowSums); });
    const bool fits = std::ranges::all_of(in, [&](Endpoint each) {
      return !KindOf(each) || Is(each, Kind::kGradients) || Is(each, Kind::kRowSums) ||
             Is(each, Kind::kProbabilities) || Is(each, Kind::kScores);
    });
    if (!fits || !TreatsAlike(id)) return std::nullopt;
    // Derivatives of what is done to scores, as 1 - tanh^2, are made of these alone.
    const bool of_scores =
        std::ranges::none_of(in, [&](Endpoint each) { return Is(each, Kind::kProbabilities); });
    if (has_some) return Kind::kGradients;
    return of_scores ? std::optional(Kind::kScores) : std::nullopt;
  }

  // All ends are there, and lie in parts along the queries, or are terms of all.
  bool IsWhole() const {
    const auto has_parts = [&](NodeId id) {
      const LayoutChoice choice = plan_.of(id);
      return !choice.outputs.empty() && choice.outputs[0] == RowsOf({id, 0}) && choice.inputs[0].parts();
    };
    if (!a_.result.exists() && !a_.trains()) return false;
    const int values_axis = ShapeOf(a_.values).rank() - (TurnsValues() ? 1 : 2);
    if (plan_.of(a_.values) != InParts(values_axis)) return false;
    if (a_.result.exists() && !has_parts(a_.result)) return false;
    if (!a_.trains()) return true;
    const auto sums = [&](NodeId id) {
      const LayoutChoice choice = plan_.of(id);
      return !choice.outputs.empty() && choice.outputs[0].terms() && choice.inputs[0].parts() &&
             choice.inputs[1].parts();
    };
    return a_.of_queries.exists() && a_.of_keys.exists() && has_parts(a_.gradients) &&
           has_parts(a_.of_queries) && sums(a_.of_keys) && sums(a_.of_values);
  }
  bool TurnsValues() const {
    return a_.result.exists() ? TurnsSecond(graph_.node(a_.result)) : !TurnsSecond(graph_.node(a_.gradients));
  }

  const Graph& graph_;
  const GraphInfo& info_;
  const IdVector<NodeId, char>& step_;
  const LayoutPlan& plan_;
  const Fanout fanout_;
  IdVector<NodeId, size_t> place_;  // in the topological order
  Attention a_;
  int64_t rows_ = 0, columns_ = 0;
  std::map<size_t, NodeId> open_;  // by place
  std::map<NodeId, bool> leads_;   // to a softmax
  std::vector<NodeId> late_;
};

}  // namespace

std::vector<NodeId> Attention::Ends() const {
  std::vector<NodeId> ends;
  for (const NodeId id : {result, of_values, of_queries, of_keys}) {
    if (id.exists()) ends.push_back(id);
  }
  return ends;
}

std::vector<Attention> FindAttentions(const Graph& graph, const GraphInfo& info,
                                      const IdVector<NodeId, char>& step, const std::vector<NodeId>& asked,
                                      const LayoutPlan& plan) {
  std::vector<Attention> found = AttentionFinder(graph, info, step, plan).Run();
  std::erase_if(found, [&](const Attention& attention) {
    return std::ranges::any_of(asked, [&](NodeId id) {
      const auto tensor = attention.tensors.find(id);
      return tensor != attention.tensors.end() && tensor->second != AttentionTensor::kShape;
    });
  });
  return found;
}

}  // namespace lanescope
