// SPDX-License-Identifier: Apache-2.0
#include "exec/run/loaded_command.h"

namespace lanescope::exec {

LaunchContext::LaunchContext(size_t num_inputs, size_t num_outputs) {
  inputs_.resize(num_inputs);
  outputs_.resize(num_outputs);
}

LaunchContext::LaunchContext(SessionState* state, NodeId node, size_t num_inputs, size_t num_outputs,
                             WorkerTeam* team, StreamContext* stream)
    : LaunchContext(num_inputs, num_outputs) {
  variables_.assign(num_inputs, nullptr);
  team_ = team;
  stream_context_ = stream;
  session_seed_ = state->seed;
  resources_ = state->shared.get();
  state_ = state;
  node_ = node;
  handles_.assign(num_inputs, {});
  random_counter_ = &state->random_counters[node];
}

const Node& LaunchContext::handle_node(int input) const {
  const NodeId node = handles_[static_cast<size_t>(input)];
  return node.exists() ? state_->graph->node(node) : KernelContext::handle_node(input);
}

void LaunchContext::SetState(size_t input, NodeId node, Variable* variable) {
  handles_[input] = node;
  variables_[input] = variable;
}

Resource& LaunchContext::FindOrCreateResource(int input,
                                              const std::function<std::unique_ptr<Resource>()>& create) {
  const NodeId node = input < 0 ? node_ : handles_[static_cast<size_t>(input)];
  LANESCOPE_CHECK(node.exists());
  const std::lock_guard<std::mutex> lock(state_->mutex);
  auto& resource = state_->resources[node];
  if (resource == nullptr) resource = create();
  return *resource;
}

}  // namespace lanescope::exec
