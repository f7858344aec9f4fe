// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/forward_order.h"

#include <algorithm>
#include <queue>
#include <string>

#include "core/base/error.h"
#include "core/place/placer.h"
#include "core/strategies/pipeline_error.h"
#include "core/strategies/recompute.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {

ForwardOrder::ForwardOrder(const RewriteInput& input, const IdVector<NodeId, ReplicaRole>& roles)
    : input_(input),
      roles_(roles),
      order_(input.graph.TopologicalOrder()),
      groups_(ColocationGroups(input.graph)),
      repeats_(RecomputedFrom(input.graph)),
      place_(roles.size(), -1),
      forward_(roles.size(), false),
      dropped_(roles.size(), false),
      of_variables_(roles.size(), false) {
  for (const NodeId id : repeats_.ids()) {
    if (repeats_[id] != id) dropped_[repeats_[id]] = true;
  }
  for (const NodeId id : order_) {
    of_variables_[id] = roles_[id] == ReplicaRole::kShared &&
                        (IsVariableOp(node(id)) || std::ranges::any_of(node(id).inputs, [&](Endpoint read) {
                           return of_variables_[read.node];
                         }));
  }
  FindForward();
  PlaceShared();
  KeepGroups();
  PlaceBackward();
  PlaceUpdates();
}

// Finds the nodes that the loss depends on; without an update all of them.
void ForwardOrder::FindForward() {
  const bool trains = std::any_of(order_.begin(), order_.end(), [&](NodeId id) { return IsUpdating(id); });
  std::string loss = input_.spec.loss;
  if (loss.empty() && !input_.spec.fetches.empty()) loss = input_.spec.fetches.front();
  if (trains && loss.empty()) RefusePipeline("the run configuration names no loss, so what goes backward?");
  IdVector<NodeId, bool> before(roles_.size(), !trains);
  if (trains) before[input_.graph.FindEndpoint(loss).node] = true;
  for (size_t i = order_.size(); i-- > 0;) {
    if (before[order_[i]]) ForEachBefore(order_[i], [&](NodeId other) { before[other] = true; });
  }
  for (const NodeId id : order_) {
    if (!IsReplicated(id) || !before[id]) continue;
    forward_[id] = true;
    ++num_places_;
  }
  if (num_places_ == 0) RefusePipeline("no node depends on the batch");
  PlaceForward();
}

// As late as what needs a node allows: what only the loss needs, as its labels, stands beside it.
void ForwardOrder::PlaceForward() {
  IdVector<NodeId, int> waiting(roles_.size(), 0);
  for (const NodeId id : order_) {
    if (forward_[id]) ForEachBefore(id, [&](NodeId other) { ++waiting[other]; });
  }
  std::priority_queue<NodeId> ready;
  for (const NodeId id : order_) {
    if (forward_[id] && waiting[id] == 0) ready.push(id);
  }
  for (int place = num_places_; !ready.empty();) {
    const NodeId id = ready.top();
    ready.pop();
    place_[id] = --place;
    ForEachBefore(id, [&](NodeId other) {
      if (--waiting[other] == 0 && forward_[other]) ready.push(other);
    });
  }
}

// Where they are read first, by whatever is forward.
void ForwardOrder::PlaceShared() {
  for (size_t i = order_.size(); i-- > 0;) {
    const int mine = place_[order_[i]];
    if (mine < 0) continue;
    ForEachBefore(order_[i], [&](NodeId before) {
      if (roles_[before] != ReplicaRole::kShared) return;
      int& place = place_[before];
      place = place < 0 ? mine : std::min(place, mine);
    });
  }
}

void ForwardOrder::KeepGroups() {
  of_group_.assign(roles_.size(), -1);
  for (const NodeId id : input_.graph.node_ids()) {
    if (place_[id] < 0 || IsReplicated(id)) continue;
    int& group = of_group_[groups_[id]];
    group = group < 0 ? place_[id] : std::min(group, place_[id]);
  }
  for (const NodeId id : input_.graph.node_ids()) {
    if (const int group = of_group_[groups_[id]]; group >= 0) place_[id] = group;
  }
}

void ForwardOrder::PlaceBackward() {
  const Fanout fanout = ComputeFanout(input_.graph);
  for (const NodeId id : order_) {
    if (!IsReplicated(id) || forward_[id] || of_group_[groups_[id]] >= 0) continue;
    place_[id] = repeats_[id] != id ? place_[repeats_[id]] : PlaceOfGradient(id, fanout);
  }
}

// The gradient of an op reads what the op read or made, and gradients of later ops: it belongs to the last op
// that its inputs allow and that does not come after those. Constants say nothing: many ops share one.
int ForwardOrder::PlaceOfGradient(NodeId id, const Fanout& fanout) const {
  int first_gradient = num_places_ - 1;
  ForEachBefore(id, [&](NodeId before) {
    if (IsReplicated(before) && !forward_[repeats_[before]])
      first_gradient = std::min(first_gradient, place_[before]);
  });
  int place = -1;
  const auto allow = [&](NodeId other) {
    if (place_[other] <= first_gradient) place = std::max(place, place_[other]);
  };
  for (const Endpoint& input : node(id).inputs) {
    const NodeId read = repeats_[input.node];
    if (!forward_[read] && !of_variables_[read]) continue;
    if (forward_[read]) allow(read);
    for (const NodeUse& use : fanout[read]) {
      if (forward_[use.node]) allow(use.node);
    }
  }
  return place < 0 ? first_gradient : place;
}

void ForwardOrder::PlaceUpdates() {
  for (const NodeId id : order_) {
    if (!IsUpdating(id) || place_[id] >= 0) continue;
    ForEachBefore(id, [&](NodeId before) { place_[id] = std::max(place_[id], place_[before]); });
  }
  // Nodes that only the update or a gradient reads take the place of their readers.
  for (size_t i = order_.size(); i-- > 0;) {
    const int mine = place_[order_[i]];
    if (mine < 0) continue;
    ForEachBefore(order_[i], [&](NodeId before) {
      if (roles_[before] != ReplicaRole::kFeed && place_[before] < 0) place_[before] = mine;
    });
  }
}

}  // namespace lanescope
