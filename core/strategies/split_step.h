// SPDX-License-Identifier: Apache-2.0
// A step of one model that several devices share. Internal to core.
#pragma once

#include <string>
#include <vector>

#include "core/strategies/graph_strategy.h"
#include "core/strategies/layout_plan.h"

namespace lanescope {

// Every node of the step once for each device, in the layouts of the plan, with collectives where a node
// takes another layout than it finds. What the step does not need and its initialization does not either is
// left out. `init`: the nodes that only initialization needs.
StepGraph WriteSplitStep(const RewriteInput& input, const LayoutPlan& plan,
                         const IdVector<NodeId, char>& step, const IdVector<NodeId, char>& init,
                         const std::vector<std::string>& devices);

}  // namespace lanescope
