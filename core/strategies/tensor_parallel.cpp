// SPDX-License-Identifier: Apache-2.0
// Tensor parallelism: every GPU has the whole batch and a part of each matrix. The product of a whole tensor
// is cut by columns, the one behind it by rows, and the sum of what the GPUs made of it is the result: two
// sums a block forward and two backward (Shoeybi et al., "Megatron-LM", 2019). Heads of attention, words of
// an embedding and classes of a loss lie where the columns that they come from do.

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/inputs/step_request.h"
#include "core/strategies/attention_heads.h"
#include "core/strategies/collective_members.h"
#include "core/strategies/layout_plan.h"
#include "core/strategies/needed_nodes.h"
#include "core/strategies/ring_attention.h"
#include "core/strategies/split_step.h"
#include "core/strategies/token_feeds.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {
namespace {

// Nothing could be cut: says of the greatest matrix how many GPUs would divide it.
[[noreturn]] void RefuseUncut(const RewriteInput& input, int64_t devices, SplitBy by) {
  const std::string_view strategy = StrategyOf(by);
  const Node* greatest = nullptr;
  int64_t most = 0;
  for (const Node& node : input.graph.nodes()) {
    if (!IsVariableOp(node) || node.FindAttr("shape") == nullptr) continue;
    const Shape& shape = node.GetShapeAttr("shape");
    if (!shape.known_rank() || !shape.IsExact() || shape.rank() < 2 || shape.NumElements() <= most) continue;
    greatest = &node;
    most = shape.NumElements();
  }
  if (greatest == nullptr)
    Throw(Code::kInvalidArgument, "{}: the graph has no matrices that GPUs could share", strategy);
  if (IsOnHost(*greatest)) {
    Throw(Code::kInvalidArgument,
          "{}: no matrix can be shared: the graph keeps '{}' on the host, by its device field "
          "'{}'; leave that out",
          strategy, greatest->name, greatest->device);
  }
  const Shape& shape = greatest->GetShapeAttr("shape");
  if (std::ranges::any_of(shape.dims(), [&](Dim dim) { return dim % devices == 0; })) {
    Throw(
        Code::kInvalidArgument,
        "{}: no matrix can be shared: none is read by a product or a look-up and updated element by element, "
        "not even '{}'",
        strategy, greatest->name);
  }
  int64_t nearest = devices;
  while (std::ranges::none_of(shape.dims(), [&](Dim dim) { return dim % nearest == 0; })) --nearest;
  Throw(Code::kInvalidArgument,
        "{}: no matrix can be shared out evenly over {} GPUs, of '{}' neither axis ({}); the nearest number "
        "that divides one is {}",
        strategy, devices, greatest->name, shape.ToString(), nearest);
}

// With all members of every collective that one is needed of.
IdVector<NodeId, char> NeededWithMembers(const Graph& graph, const RunSpec& spec, std::vector<NodeId> asked) {
  const CollectiveMembers members(graph);
  for (;;) {
    const IdVector<NodeId, char> needed = NeededBy(graph, spec, asked);
    const size_t before = asked.size();
    for (const NodeId id : graph.node_ids()) {
      if (needed[id] == 0) continue;
      std::ranges::copy_if(members.Of(id), std::back_inserter(asked),
                           [&](NodeId member) { return needed[member] == 0; });
    }
    if (asked.size() == before) return needed;
  }
}

// Whether the busiest device has less to do, and tokens divide into as many pieces.
bool IsBalancedByZigzag(const RewriteInput& input, const std::map<NodeId, Layout>& feeds,
                        const std::vector<Attention>& rings, size_t devices) {
  const auto pieces = static_cast<int64_t>(devices * PiecesOf(RingOrder::kZigzag));
  ValueBounds bounds(input.graph, input.info);
  const auto most = [&](const Attention& ring, RingOrder order) {
    return RingBlocks(input.graph, input.info, ring, devices, order, &bounds).MostScores();
  };
  const auto divides = [&](const Attention& ring) {
    const Shape& scores = input.info.of({ring.scores, 0}).shape;
    return scores.dim(scores.rank() - 2) % pieces == 0 && scores.dim(scores.rank() - 1) % pieces == 0;
  };
  const auto has_pieces = [&](const auto& feed) {
    return input.info.of({feed.first, 0}).shape.dim(feed.second.axis) % pieces == 0;
  };
  return std::ranges::all_of(feeds, has_pieces) && std::ranges::all_of(rings, divides) &&
         std::ranges::any_of(rings, [&](const Attention& ring) {
           return most(ring, RingOrder::kZigzag) < most(ring, RingOrder::kInARow);
         });
}

// `before`: of the groups that share tokens, where these are of their GPUs; else null.
StepGraph SplitStep(const RewriteInput& input, const std::vector<std::vector<std::string>>& groups,
                    SplitBy by, const SplitTrace* before = nullptr, SplitTrace* trace = nullptr) {
  std::vector<NodeId> asked = NodesOf(input.graph, {&input.spec.fetches, &input.spec.targets});
  std::vector<NodeId> loss;
  if (!input.spec.loss.empty()) loss.push_back(input.graph.FindEndpoint(input.spec.loss).node);
  asked.insert(asked.end(), loss.begin(), loss.end());
  for (const auto& [name, feed] : input.spec.feeds) asked.push_back(input.graph.FindEndpoint(name).node);
  const IdVector<NodeId, char> step = NeededWithMembers(input.graph, input.spec, asked);
  const IdVector<NodeId, char> init =
      NeededBy(input.graph, input.spec, NodesOf(input.graph, {&input.spec.init}));
  const auto devices = static_cast<int64_t>(groups[0].size());
  const IdVector<NodeId, char> forward = NeededWithMembers(input.graph, input.spec, loss);
  const SplitStepNodes nodes{step, init, forward};
  std::optional<LayoutPlan> tokens;
  LayoutPlan::Goal goal{.devices = devices, .by = SplitBy::kTokens, .joins_groups = before != nullptr};
  if (by != SplitBy::kMatrices) {
    goal.feeds = TokenFeeds(input.graph, input.spec, input.info, devices, by,
                            before != nullptr ? &before->tokens : nullptr);
    tokens.emplace(input.graph, input.info, step, goal);
  }
  if (by == SplitBy::kTokens) return WriteSplitStep(input, *tokens, nodes, groups, {}, trace);
  if (by == SplitBy::kTokensInRing) {
    std::vector<Attention> rings = FindAttentions(input.graph, input.info, step, asked, *tokens);
    if (IsBalancedByZigzag(input, goal.feeds, rings, groups[0].size())) {
      goal.order = RingOrder::kZigzag;
      const LayoutPlan zigzag(input.graph, input.info, step, goal);
      rings = FindAttentions(input.graph, input.info, step, asked, zigzag);
    }
    for (const Attention& ring : rings) {
      for (const NodeId end : {ring.of_keys, ring.of_values}) {
        if (end.exists()) goal.given[end] = RingAttention::LayoutOf(input.info, ring, end);
      }
    }
    const LayoutPlan plan(input.graph, input.info, step, goal);
    return WriteSplitStep(input, plan, nodes, groups, rings, trace);
  }
  CheckHeadsOfAttention(input.graph, input.info, loss.empty() ? step : forward, devices, by);
  const LayoutPlan plan(input.graph, input.info, step,
                        {.devices = devices,
                         .by = by,
                         .joins_groups = before != nullptr,
                         .tokens = tokens ? &*tokens : nullptr});
  if (!plan.HasPartsOfVariables()) RefuseUncut(input, devices, by);
  return WriteSplitStep(input, plan, nodes, groups, {}, trace);
}

}  // namespace

std::vector<std::vector<std::string>> GroupsOf(const RewriteInput& input, int size) {
  std::vector<std::vector<std::string>> groups;
  for (size_t i = 0; i < input.gpus.size(); ++i) {
    if (i % static_cast<size_t>(size) == 0) groups.emplace_back();
    groups.back().push_back(input.machine.device(input.gpus[i]).name);
  }
  return groups;
}

namespace {
StepGraph SplitOverAll(const RewriteInput& input, SplitBy by) {
  if (input.gpus.size() < 2)
    Throw(Code::kInvalidArgument, "{}: the machine has fewer than two GPUs", StrategyOf(by));
  return SplitStep(input, GroupsOf(input, static_cast<int>(input.gpus.size())), by);
}
}  // namespace

StepGraph SplitOverMatrices(const RewriteInput& input) { return SplitOverAll(input, SplitBy::kMatrices); }
StepGraph SplitOverMatricesAndTokens(const RewriteInput& input) {
  return SplitOverAll(input, SplitBy::kMatricesAndTokens);
}
StepGraph SplitOverTokens(const RewriteInput& input) { return SplitOverAll(input, SplitBy::kTokens); }
StepGraph SplitOverTokensInRing(const RewriteInput& input) {
  return SplitOverAll(input, SplitBy::kTokensInRing);
}

namespace {

// Groups of `count` devices, each `apart` from the next, over all of the input's.
std::vector<std::vector<std::string>> GroupsApart(const RewriteInput& input, size_t count, size_t apart) {
  std::vector<std::vector<std::string>> groups;
  for (size_t first = 0; first < input.gpus.size(); first += count * apart) {
    std::vector<std::string>& group = groups.emplace_back();
    for (size_t i = 0; i < count; ++i)
      group.push_back(input.machine.device(input.gpus[first + i * apart]).name);
  }
  return groups;
}

// Origins of a split of a split step, in terms of the step before both; the second makes `count` places of
// one.
IdVector<NodeId, PartOfNode> JoinOrigins(const SplitTrace& first, const SplitTrace& second, int count) {
  IdVector<NodeId, PartOfNode> joined;
  for (const PartOfNode& origin : second.origins) {
    const PartOfNode& outer = first.origins[origin.of];
    const bool has_none = outer.place < 0 && origin.place < 0;
    joined.Add({outer.of, has_none ? -1 : std::max(outer.place, 0) * count + std::max(origin.place, 0)});
  }
  return joined;
}

}  // namespace

StepGraph SplitInGroups(const RewriteInput& input, const StepGraph& step,
                        IdVector<NodeId, PartOfNode>* origins) {
  auto apart = static_cast<size_t>(input.sharers);
  StepGraph split;
  SplitTrace trace;
  for (size_t level = 0; level < input.sharing.size(); ++level) {
    const auto [by, count] = input.sharing[level];
    const StepGraph& from = level == 0 ? step : split;
    apart /= static_cast<size_t>(count);
    const GraphInfo info = InferGraph(from.graph, StepRequestOf(from.graph, from.spec).feeds);
    const RewriteInput written{from.graph, from.spec, info, input.machine, input.costs, input.gpus};
    SplitTrace inner;
    StepGraph next = SplitStep(written, GroupsApart(input, static_cast<size_t>(count), apart), by,
                               level == 0 ? nullptr : &trace, &inner);
    if (level > 0) inner.origins = JoinOrigins(trace, inner, count);
    trace = std::move(inner);
    split = std::move(next);
  }
  if (origins != nullptr) *origins = std::move(trace.origins);
  return split;
}

}  // namespace lanescope
