// SPDX-License-Identifier: Apache-2.0
// Where a pipeline cuts a model into parts. Internal to core.
#pragma once

#include <vector>

#include "core/strategies/forward_order.h"
#include "core/strategies/pipeline_passes.h"

namespace lanescope {

// The load of a place on its GPU.
struct PlaceLoad {
  double ns = 0;          // forward and backward
  double state = 0;       // bytes of variables, of what updates them, and of their gradients
  double activation = 0;  // bytes that wait for the backward pass, of the whole batch
  bool joined = false;    // it stays with the place before: one block that is computed again
};

// By place of the order.
std::vector<PlaceLoad> LoadsOf(const RewriteInput& input, const IdVector<NodeId, ReplicaRole>& roles,
                               const ForwardOrder& order, DeviceId gpu);

// The last place of every part, so that the longest part is as short as contiguous parts can be whose memory
// suffices; `gpus`: of the stages. There may be fewer parts than the order has. Throws InvalidArgument where
// nothing fits.
std::vector<int> CutIntoParts(const Machine& machine, const std::vector<DeviceId>& gpus,
                              const std::vector<PlaceLoad>& loads, const PipelineOrder& order);

}  // namespace lanescope
