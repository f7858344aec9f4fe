// SPDX-License-Identifier: Apache-2.0
// The sum of one tensor a device, on every device: a schedule of copies and additions, written as ordinary
// nodes, so that it runs anywhere and costs what its copies cost on the machine's links.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/collective/collective_schedule.h"
#include "graphs/scope.h"

namespace lanescope::graphs {

using lanescope::CollectiveBy;
using AllReduceBy = CollectiveBy;

struct AllReduceOptions {
  AllReduceBy by = AllReduceBy::kRing;
  bool mean = false;  // of the tensors, not their sum
  std::string_view name = "AllReduce";
  // One NcclAllReduce node a device, as TensorFlow has it, in place of copies and sums; those it becomes
  // where it is run or simulated (InlineFunctions in core/expand/functions.h). By kNccl it always is.
  bool as_op = false;
};

// tensors[i] is on devices[i], and so is result i. All have one shape, which a ring has to know. Throws
// InvalidArgument for none, or for shapes or types that differ.
std::vector<Endpoint> AllReduce(Scope& scope, const std::vector<Endpoint>& tensors,
                                const std::vector<std::string>& devices,
                                const AllReduceOptions& options = {});

}  // namespace lanescope::graphs
