// SPDX-License-Identifier: Apache-2.0
// The part of a launch of several nodes that the kernel of one of them sees. Internal to exec/run.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "core/schedule/schedule.h"
#include "exec/device/kernel.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {

// The loops of a block run on the thread that has the block.
class CallersThread final : public WorkerTeam {
 public:
  void ParallelFor(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& fn) override {
    for (int64_t begin = 0; begin < n; begin += grain) fn(begin, std::min(n, begin + grain));
  }
};

// The kernel of one node sees its part of the launch, or of a block of it. Shapes stay from launch to launch;
// addresses and variables are those of the launch that it has entered last.
class MemberContext final : public KernelContext {
 public:
  explicit MemberContext(const FusedNode& node) : node_(&node) { inputs_.resize(node.inputs.size()); }

  void SetInput(size_t k, const TensorRef& tensor) { inputs_[k] = tensor; }
  void SetOutput(const TensorRef& tensor) { outputs_.assign(1, tensor); }

  void Enter(KernelContext& launch, WorkerTeam* team) {
    launch_ = &launch;
    team_ = team;
    resources_ = &launch.resources();
    session_seed_ = launch.session_seed();
  }
  void PointInput(size_t k, void* data) { inputs_[k].data = data; }
  void PointOutput(void* data) { outputs_[0].data = data; }
  void TakeVariables() {
    variables_.resize(node_->inputs.size());
    for (size_t k = 0; k < variables_.size(); ++k) {
      const int input = node_->inputs[k];
      variables_[k] = input < 0 ? nullptr : &launch_->variable(input);
    }
  }
  // An update sees the elements from `first` on of the `count` variables that it writes.
  void TakeParts(size_t count, int64_t first, const Shape& shape) {
    parts_.resize(count);
    variables_.assign(node_->inputs.size(), nullptr);
    for (size_t k = 0; k < count; ++k) {
      const Variable& whole = launch_->variable(node_->inputs[k]);
      parts_[k] = whole;
      parts_[k].tensor.shape = shape;
      parts_[k].tensor.data = ElementAt(whole.tensor.dtype, whole.tensor.data, first);
      variables_[k] = &parts_[k];
      inputs_[k] = parts_[k].tensor;
    }
  }

  Resource& FindOrCreateResource(int input,
                                 const std::function<std::unique_ptr<Resource>()>& create) override {
    return launch_->FindOrCreateResource(node_->inputs[static_cast<size_t>(input)], create);
  }
  const Node& handle_node(int input) const override {
    return launch_->handle_node(node_->inputs[static_cast<size_t>(input)]);
  }
  uint64_t& random_counter() override { return launch_->random_counter(); }

 private:
  KernelContext* launch_ = nullptr;
  const FusedNode* node_;
  std::vector<Variable> parts_;
};

}  // namespace lanescope::exec
