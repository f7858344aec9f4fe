// SPDX-License-Identifier: Apache-2.0
// Heads of attention, which GPUs that share a model's matrices share as well. Internal to core.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/graph/op.h"
#include "core/strategies/split_by.h"

namespace lanescope {

// Whether all heads of all attention among `nodes` (by node) divide by the number of devices, however their
// matrices could be cut: columns that are reshaped into heads, and on which a product of two activations
// works. Throws InvalidArgument where they do not, with the nearest number that divides all of them.
void CheckHeadsOfAttention(const Graph& graph, const GraphInfo& info, const IdVector<NodeId, char>& nodes,
                           int64_t devices, SplitBy by);

// `heads`: of the module or node of that name; `kv_heads`: the fewer ones of its keys and values, else as
// many. Throws InvalidArgument with the nearest number of devices that divides `divided`.
[[noreturn]] void RefuseHeads(SplitBy by, std::string_view name, int64_t heads, int64_t kv_heads,
                              int64_t divided, int64_t devices);

}  // namespace lanescope
