// SPDX-License-Identifier: Apache-2.0
// The kernel of a launch that runs several nodes on a device of host memory.
#pragma once

#include <memory>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "exec/device/kernel.h"

namespace lanescope::exec {

// One of the nodes has failed.
class MemberError final : public Error {
 public:
  MemberError(const Error& error, NodeId node) : Error(error), node_(node) {}

  NodeId node() const { return node_; }

 private:
  NodeId node_;
};

// Runs element-wise nodes that read each other's results block by block, so that what lies between stays in
// the cache, and the others one after the other, all by the kernels that they have by themselves: results
// are the same, bit by bit. Refers to the graph. Throws what KernelRegistry::Create throws; what a node
// throws when it runs comes as MemberError.
std::unique_ptr<Kernel> MakeFusedKernel(const Graph& graph, const Schedule& schedule, const Command& command);

}  // namespace lanescope::exec
