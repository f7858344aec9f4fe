// SPDX-License-Identifier: Apache-2.0
// Collectives of some devices, beside the sum of graphs/all_reduce.h: schedules of copies, sums and
// joins, written as ordinary nodes, so that they run anywhere, between tasks too, have gradients, and cost
// what their copies cost on the machine's links.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graphs/all_reduce.h"
#include "graphs/scope.h"

namespace lanescope::graphs {

struct CollectiveOptions {
  CollectiveBy by = CollectiveBy::kRing;
  bool mean = false;           // of the tensors, not their sum; of reduce-scatters
  std::string_view name = {};  // empty: "AllGather", "ReduceScatter", "Broadcast"
  // TensorFlow's Collective* nodes, one a device, in place of copies; those they become where they are run or
  // simulated (InlineFunctions in core/expand/functions.h). They have no gradients, as in TensorFlow.
  bool as_op = false;
};

// tensors[i] is on devices[i], and so is result i. All throw InvalidArgument for none, for types or shapes
// that do not fit, and for a shape that is not known where a ring or an op has to know it.

// All tensors behind each other along their first dimension, on every device.
std::vector<Endpoint> AllGather(Scope& scope, const std::vector<Endpoint>& tensors,
                                const std::vector<std::string>& devices,
                                const CollectiveOptions& options = {});
// Part i of the sum of all on device i: equal parts along the first dimension.
std::vector<Endpoint> ReduceScatter(Scope& scope, const std::vector<Endpoint>& tensors,
                                    const std::vector<std::string>& devices,
                                    const CollectiveOptions& options = {});
// The tensor, which is on devices[0], on every device.
std::vector<Endpoint> Broadcast(Scope& scope, Endpoint tensor, const std::vector<std::string>& devices,
                                const CollectiveOptions& options = {});

}  // namespace lanescope::graphs
