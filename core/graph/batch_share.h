// SPDX-License-Identifier: Apache-2.0
// Nodes that say their own cost and shapes, for a part of the batch. Internal to core.
#pragma once

#include "core/graph/graph.h"

namespace lanescope {

// Of a node with the attribute `_lanescope_batch` ({"axes": [[0], []], "flops": n, "bytes": n}): divides the
// named axes of
// `_output_shapes`, one list an output, and what `_lanescope_cost` has beyond these FLOPs and bytes, by
// `parts`. Leaves other nodes alone. Throws InvalidArgument naming the node where the attribute is damaged or
// an axis does not divide.
void TakeBatchShare(int parts, Node* node);

}  // namespace lanescope
