// SPDX-License-Identifier: Apache-2.0
// The host's kernels as those of a device with streams that is made of host memory: they run when their
// stream gets to them, with the operands that they had when they were issued.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/op.h"
#include "exec/device/kernel.h"

namespace lanescope::exec::test {

// The compute stream that such a kernel is launched on.
class LaterStream : public StreamContext {
 public:
  virtual bool IsDeviceMemory(const void* memory) const = 0;
  virtual void Enqueue(std::function<void()> work) = 0;
  virtual void Synchronize() = 0;
};

// A launch that is run later.
class LaterContext : public KernelContext {
 public:
  LaterContext(KernelContext* original, const LaterStream& stream)
      : KernelContext(*original), original_(original) {
    for (TensorRef& input : inputs_) Snapshot(&input, stream);
    for (Variable*& variable : variables_) {
      if (variable != nullptr) variable = &kept_variables_.emplace_back(*variable);
    }
  }
  Resource& FindOrCreateResource(int input,
                                 const std::function<std::unique_ptr<Resource>()>& create) override {
    return original_->FindOrCreateResource(input, create);
  }
  uint64_t& random_counter() override { return original_->random_counter(); }

 private:
  // Host memory is read when the launch is issued.
  void Snapshot(TensorRef* input, const LaterStream& stream) {
    if (input->data == nullptr || !input->shape.IsExact() || stream.IsDeviceMemory(input->data)) return;
    const int64_t bytes = input->NumElements() * static_cast<int64_t>(ElementSize(input->dtype));
    kept_.emplace_back(static_cast<size_t>(std::max<int64_t>(1, bytes)));
    if (bytes > 0) std::memcpy(kept_.back().data(), input->data, static_cast<size_t>(bytes));
    input->data = kept_.back().data();
  }

  KernelContext* original_;
  std::deque<std::vector<char>> kept_;
  std::deque<Variable> kept_variables_;
};

class LaterKernel : public Kernel {
 public:
  explicit LaterKernel(const Node& node) : op_(node.op), kernel_(KernelRegistry::Host().Create(node)) {}

  void Compute(KernelContext& context) override {
    auto& stream = static_cast<LaterStream&>(context.stream_context());
    if (MustRunNow(context, stream)) {
      // As a kernel that needs a size from the device: what it ran is complete when it returns.
      stream.Synchronize();
      stream.Enqueue([this, &context] { kernel_->Compute(context); });
      stream.Synchronize();
      return;
    }
    const auto later = std::make_shared<LaterContext>(&context, stream);
    stream.Enqueue([this, later] { kernel_->Compute(*later); });
    if (op_ == "Assign" || op_ == "AssignVariableOp") context.variable(0).initialized = true;
  }
  bool replayable() const override {
    return op_.find("Random") == std::string::npos && op_.find("Truncated") == std::string::npos;
  }

 private:
  static bool MustRunNow(KernelContext& context, const LaterStream& stream) {
    for (int k = 0; k < context.num_outputs(); ++k) {
      const TensorRef& output = context.output(k);
      if (!output.shape.IsExact()) return true;
      if (output.data != nullptr && !stream.IsDeviceMemory(output.data)) return true;
    }
    return false;
  }

  std::string op_;
  std::unique_ptr<Kernel> kernel_;
};

// All ops that the host has.
inline void RegisterLaterKernels(KernelRegistry* registry) {
  for (const std::string_view op : OpRegistry::Global().Names()) {
    if (!KernelRegistry::Host().Has(op)) continue;
    registry->Register(std::string(op), [](const Node& node) -> std::unique_ptr<Kernel> {
      return std::make_unique<LaterKernel>(node);
    });
  }
}

}  // namespace lanescope::exec::test
