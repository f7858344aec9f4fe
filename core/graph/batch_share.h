// SPDX-License-Identifier: Apache-2.0
// Nodes that say their own cost and shapes, for a part of the batch. Internal to core.
#pragma once

#include "core/graph/graph.h"

namespace lanescope {

// Divides the work and the outputs of a node by `parts`, if it has the attribute `_lanescope_batch`:
// {"axes": [[0], []], "flops": n, "bytes": n}. By output these axes of `_output_shapes` are divided, and what
// `_lanescope_cost` has beyond these FLOPs and bytes. Other nodes stay as they are. Throws InvalidArgument
// naming the node where the attribute is damaged or an axis does not divide.
void TakeBatchShare(int parts, Node* node);

}  // namespace lanescope
