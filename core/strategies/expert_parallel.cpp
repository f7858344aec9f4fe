// SPDX-License-Identifier: Apache-2.0
// Expert parallelism: a replica of everything but the experts for each GPU, which has a part of the batch,
// and of the experts a part on each (Lepikhin et al., "GShard", 2021; Fedus et al., "Switch Transformers",
// 2022). Tokens go to the GPUs of the experts, and what those made of them comes back.
//
// Shapes of a graph are fixed, so the exchange is dense: every GPU gets all rows of all replicas, as an
// expert may get any of them, and gives back one sum over its experts for each. Capacity is all tokens, and
// none is dropped. Gradients of experts need no exchange: an expert has seen the rows of all replicas where
// it lies.

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/inputs/step_request.h"
#include "core/strategies/expert_parts.h"
#include "core/strategies/replicator.h"

namespace lanescope {

StepGraph ShareExperts(const RewriteInput& input) {
  const std::vector<DeviceId>& gpus = input.gpus;
  if (gpus.size() < 2)
    Throw(Code::kInvalidArgument,
          "expert-parallel: experts are shared out over two GPUs or more, and the machine has {}",
          gpus.size());
  if (input.spec.batch_axis.empty()) Throw(Code::kInvalidArgument, "expert-parallel: {}", kNoBatchAxis);
  const int group = static_cast<int>(gpus.size()) / input.groups;
  const ExpertParts experts = SplitExperts(input.graph, input.spec, input.info, group);
  const GraphInfo info = InferGraph(experts.graph, StepRequestOf(experts.graph, experts.spec).feeds);
  const RewriteInput split{experts.graph, experts.spec, info, input.machine, input.costs, gpus};
  // Nodes that stand once are of the first group.
  const auto device = [&](NodeId node, int replica) {
    const int part = experts.part[node];
    if (part < 0 && replica < 0) return std::string();
    const int gpu = part < 0 ? replica : std::max(replica, 0) / group * group + part;
    return input.machine.device(gpus[static_cast<size_t>(gpu)]).name;
  };
  const ReplicaPlan plan{.strategy = "expert-parallel",
                         .scope = "replica_",
                         .replicas = static_cast<int>(gpus.size()),
                         .device = device};
  return Replicate(split, plan, FindReplicaRoles(experts.graph, experts.spec)).step;
}

}  // namespace lanescope
