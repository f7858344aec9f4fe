// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/element_wise.h"
#include "exec/kernels/element_wise_ops.h"

namespace lanescope::exec {
namespace {

class UnaryKernel final : public LoopKernel {
 public:
  explicit UnaryKernel(UnaryLoop loop) : loop_(loop) {}
  void Compute(KernelContext& context) override { RunUnary(context, loop_); }
  ElementLoop OnlyLoop() const override { return {.unary = loop_}; }

 private:
  UnaryLoop loop_;
};

UnaryLoop FindLoop(const Node& node, LoopType type) {
  for (const auto& [name, op] : kUnaryOps) {
    if (name == node.op) return HostLoops().unary[static_cast<size_t>(op)][static_cast<size_t>(type)];
  }
  for (const auto& [name, op] : kTestOps) {
    if (name == node.op) return HostLoops().test[static_cast<size_t>(op)][static_cast<size_t>(type)];
  }
  return nullptr;
}

std::unique_ptr<Kernel> MakeUnary(const Node& node) {
  const DataType dtype = node.TypeAttr("T");
  const UnaryLoop loop = FindLoop(node, LoopTypeOf(node.op, dtype));
  if (loop == nullptr) ThrowNoLoop(node, dtype);
  return std::make_unique<UnaryKernel>(loop);
}

std::unique_ptr<Kernel> MakeLogicalNot(const Node&) {
  return std::make_unique<UnaryKernel>(HostLoops().logical_not);
}

}  // namespace

void RegisterUnaryKernels(KernelRegistry& registry) {
  for (const auto& [name, op] : kUnaryOps) registry.Register(std::string(name), MakeUnary);
  for (const auto& [name, op] : kTestOps) registry.Register(std::string(name), MakeUnary);
  registry.Register("LogicalNot", MakeLogicalNot);
}

}  // namespace lanescope::exec
