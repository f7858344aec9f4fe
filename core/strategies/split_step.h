// SPDX-License-Identifier: Apache-2.0
// A step of one model that several devices share. Internal to core.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/strategies/attention_region.h"
#include "core/strategies/graph_strategy.h"
#include "core/strategies/layout_plan.h"
#include "core/strategies/split_by.h"

namespace lanescope {

// A node of a step in parts: the node of the model that it computes or serves, and the place of its device in
// the group; -1: it has none.
struct PartOfNode {
  NodeId of;
  int place = -1;
};
// By node of a split step; and what is there in parts of the tokens, with the feed that it is of.
struct SplitTrace {
  IdVector<NodeId, PartOfNode> origins;
  std::map<NodeId, std::string> tokens;
};

// By node.
struct SplitStepNodes {
  const IdVector<NodeId, char>& step;
  const IdVector<NodeId, char>& init;     // that initialization needs
  const IdVector<NodeId, char>& forward;  // that lead to the loss
};

// Every node of the step once for each device of a group, in the layouts of the plan, with collectives where
// a node takes another layout than it finds. `groups`: of as many devices each; a node is of the group whose
// first device it names, else of the first. `rings`: attentions whose keys and values go round the group.
// What the step does not need and its initialization does not either is left out.
StepGraph WriteSplitStep(const RewriteInput& input, const LayoutPlan& plan, const SplitStepNodes& nodes,
                         const std::vector<std::vector<std::string>>& groups,
                         const std::vector<Attention>& rings = {}, SplitTrace* trace = nullptr);

// The GPUs of the input in groups of so many that follow each other, which are the nearest ones.
std::vector<std::vector<std::string>> GroupsOf(const RewriteInput& input, int size);
// `step` is written for the first GPU of every group of `input.sharers`; the group shares its nodes as
// `input.sharing` says. Throws InvalidArgument where matrices or tokens do not divide.
StepGraph SplitInGroups(const RewriteInput& input, const StepGraph& step,
                        IdVector<NodeId, PartOfNode>* origins = nullptr);

}  // namespace lanescope
