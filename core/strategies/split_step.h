// SPDX-License-Identifier: Apache-2.0
// A step of one model that several devices share. Internal to core.
#pragma once

#include <string>
#include <vector>

#include "core/strategies/graph_strategy.h"
#include "core/strategies/layout_plan.h"

namespace lanescope {

// A node of a step in parts: the node of the model that it computes or serves, and the place of its device in
// the group; -1: it has none.
struct PartOfNode {
  NodeId of;
  int place = -1;
};

// Every node of the step once for each device of a group, in the layouts of the plan, with collectives where
// a node takes another layout than it finds. `groups`: of as many devices each; a node is of the group whose
// first device it names, else of the first. What the step does not need and its initialization does not
// either is left out. `init`: the nodes that only initialization needs.
StepGraph WriteSplitStep(const RewriteInput& input, const LayoutPlan& plan,
                         const IdVector<NodeId, char>& step, const IdVector<NodeId, char>& init,
                         const std::vector<std::vector<std::string>>& groups,
                         IdVector<NodeId, PartOfNode>* origins = nullptr);

// The GPUs of the input in groups of so many that follow each other, which are the nearest ones.
std::vector<std::vector<std::string>> GroupsOf(const RewriteInput& input, int size);
// `step` is written for the first GPU of every such group; the group shares the matrices of its nodes.
StepGraph SplitInGroups(const RewriteInput& input, const StepGraph& step, int group,
                        IdVector<NodeId, PartOfNode>* origins = nullptr);

}  // namespace lanescope
