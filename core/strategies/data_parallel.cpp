// SPDX-License-Identifier: Apache-2.0
// One replica of the model for each GPU, each with its part of the batch; variables are shared, gradients are
// averaged before the update (in-graph replication with synchronous updates: TensorFlow's CIFAR-10 tutorial
// cifar10_multi_gpu_train.py, average_gradients; Abadi et al., "TensorFlow: A System for Large-Scale Machine
// Learning", 2016, section 4.4). The mean of the replicas' gradients is the gradient of the whole batch where
// the loss is a mean over it.

#include "core/base/error.h"
#include "core/strategies/replicator.h"

namespace lanescope {

StepGraph ReplicateOverBatch(const RewriteInput& input) {
  const std::vector<DeviceId>& gpus = input.gpus;
  if (gpus.size() < 2) Throw(Code::kInvalidArgument, "data-parallel: the machine has fewer than two GPUs");
  if (input.spec.batch_axis.empty()) Throw(Code::kInvalidArgument, "data-parallel: {}", kNoBatchAxis);
  const ReplicaPlan plan{.strategy = "data-parallel",
                         .scope = "replica_",
                         .replicas = static_cast<int>(gpus.size()),
                         .device = [&](NodeId, int replica) {
                           return replica < 0 ? std::string()
                                              : input.machine.device(gpus[static_cast<size_t>(replica)]).name;
                         }};
  return Replicate(input, plan, FindReplicaRoles(input.graph, input.spec)).step;
}

}  // namespace lanescope
