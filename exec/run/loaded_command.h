// SPDX-License-Identifier: Apache-2.0
// A command made ready to run, and the state of the session that it may touch.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/machine/machine.h"
#include "exec/device/device_set.h"
#include "exec/device/kernel.h"
#include "exec/resources/resource_manager.h"

namespace lanescope::exec {

// A session's state from step to step. Kernels reach it through their context; the schedule's edges
// order the accesses of one step.
struct SessionState {
  const Graph* graph = nullptr;
  std::shared_ptr<ResourceManager> shared;  // by name, maybe with other sessions
  std::shared_ptr<DeviceSet> device_set;
  bool share_variables = false;                                 // by name, with all that have `shared`
  std::map<NodeId, std::shared_ptr<SharedVariable>> variables;  // by node
  std::map<NodeId, std::unique_ptr<Resource>> resources;        // by node; guarded by mutex
  std::map<NodeId, uint64_t> random_counters;  // by node; entries made when a schedule is loaded
  uint64_t seed = kDefaultSessionSeed;         // of random ops without seeds of their own
  std::mutex mutex;
};

class LaunchContext : public KernelContext {
 public:
  LaunchContext() = default;
  // For a copy: source and destination alone.
  LaunchContext(size_t num_inputs, size_t num_outputs);
  // For a launch of this node. `stream`: of kernels that a stream runs, else null.
  LaunchContext(SessionState* state, NodeId node, size_t num_inputs, size_t num_outputs, WorkerTeam* team,
                StreamContext* stream);
  // The input is a handle of, or refers to, this node's resource or variable; null: it is no variable.
  void SetState(size_t input, NodeId node, Variable* variable);
  std::span<TensorRef> inputs() { return inputs_; }
  std::span<TensorRef> outputs() { return outputs_; }
  std::span<const TensorRef> inputs() const { return inputs_; }
  std::span<const TensorRef> outputs() const { return outputs_; }

  Resource& FindOrCreateResource(int input,
                                 const std::function<std::unique_ptr<Resource>()>& create) override;
  uint64_t& random_counter() override { return *random_counter_; }
  const Node& handle_node(int input) const override;

 private:
  SessionState* state_ = nullptr;
  NodeId node_;
  std::vector<NodeId> handles_;  // by input: the node of the resource behind it
  uint64_t* random_counter_ = nullptr;
};

// For a copy, input 0 and output 0 of the context are source and destination.
struct LoadedCommand {
  std::unique_ptr<Kernel> kernel;
  LaunchContext context;
  std::optional<Route> route;        // copies between devices
  bool dynamic = false;              // some operand's shape is known only at run time
  WaitingKernel* waiting = nullptr;  // the kernel, if it may have to wait
  std::vector<std::pair<const Variable*, const std::string*>> must_be_initialized;
};

}  // namespace lanescope::exec
