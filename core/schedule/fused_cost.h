// SPDX-License-Identifier: Apache-2.0
// How cost models, which know nodes, see a launch of several.
#pragma once

#include <vector>

#include "core/schedule/cost.h"
#include "core/schedule/schedule.h"

namespace lanescope {

// A node of an op of its own, "fused Mul+Tanh (2)", that reads and writes what the command does and says its
// work (LaunchWork). Of more than 16 operands one input stands for those of each dtype, with as many
// elements. It refers to nothing.
struct FusedDescription {
  Node node;
  std::vector<TensorInfo> inputs, outputs;
};
FusedDescription DescribeFused(const Graph& graph, const GraphInfo& info, const Schedule& schedule,
                               const Command& command);

// The time of the command on a device: as is known of its like (kMeasured, kFitted), else what its nodes
// take one by one, less their further launches and, at the device's memory bandwidth, the bytes that
// stay between them; no less than the longest of them.
CostEstimate FusedCost(const Graph& graph, const GraphInfo& info, const Schedule& schedule,
                       const Command& command, const Machine& machine, DeviceId device,
                       const CostModel& costs);

}  // namespace lanescope
