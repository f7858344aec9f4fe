// SPDX-License-Identifier: Apache-2.0
// Attention in a graph where it stands as products and a softmax, with its gradients. Internal to core.
#pragma once

#include <map>
#include <vector>

#include "core/graph/op.h"
#include "core/strategies/layout_plan.h"

namespace lanescope {

// Tensors that nodes of an attention give; all but statistics have a row for each query and a column for each
// key.
enum class AttentionTensor : uint8_t {
  kScores,         // before the softmax
  kGreatest,       // of each row
  kIsHidden,       // of each row: its greatest is that of a row which sees nothing
  kProbabilities,  // behind the softmax
  kGradients,      // of probabilities or scores
  kRowSums,        // of gradients times probabilities
  kShape,          // of one of these
  kUnread,         // somebody waits for it, and nobody reads it
};

// softmax(queries keys' ...) values, and its gradients. Nodes without a place here are none of it.
struct Attention {
  NodeId scores, softmax;
  NodeId result;  // none: the values are not multiplied
  Endpoint queries, keys, values;
  // In the step's gradients; none where nothing trains.
  NodeId gradients, of_values, of_queries, of_keys;
  Endpoint gradient;             // of the result
  bool keys_are_turned = false;  // in their gradient, whose product has the queries first
  std::map<NodeId, AttentionTensor> tensors;
  std::vector<NodeId> before, behind;  // scores before the softmax, gradients behind the first; in order

  bool trains() const { return gradients.exists(); }
  // Products whose outputs others read: results of the whole.
  std::vector<NodeId> Ends() const;
};

// Attentions of the step whose queries, keys and values lie in parts along the tokens, and that no node reads
// but by their ends. `asked`: what the step is run for, which has to be there. A graph that differs from
// these in anything has none.
std::vector<Attention> FindAttentions(const Graph& graph, const GraphInfo& info,
                                      const IdVector<NodeId, char>& step, const std::vector<NodeId>& asked,
                                      const LayoutPlan& plan);

}  // namespace lanescope
