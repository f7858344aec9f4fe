// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/element_wise_plan.h"

namespace lanescope::exec {
namespace {

// Values that integers must not have on the right: loops cannot report them.
enum class Divisor { kAny, kNonZero, kNonNegative };

Divisor DivisorRule(BinaryOp op, DataType dtype) {
  if (dtype != DataType::kInt32 && dtype != DataType::kInt64) return Divisor::kAny;
  switch (op) {
    case BinaryOp::kDiv:
    case BinaryOp::kTruncateDiv:
    case BinaryOp::kFloorDiv:
    case BinaryOp::kTruncateMod:
    case BinaryOp::kFloorMod:
      return Divisor::kNonZero;
    case BinaryOp::kPow:
      return Divisor::kNonNegative;
    default:
      return Divisor::kAny;
  }
}

template <typename T>
void CheckDivisor(const TensorRef& b, Divisor rule) {
  const T* begin = b.as<const T>();
  const T* end = begin + b.NumElements();
  if (rule == Divisor::kNonZero && std::find(begin, end, T(0)) != end) {
    Throw(Code::kInvalidArgument, "Integer division by zero");
  }
  if (rule == Divisor::kNonNegative && std::any_of(begin, end, [](T value) { return value < 0; })) {
    Throw(Code::kInvalidArgument, "Integers to negative integer powers are not allowed");
  }
}

class BinaryKernel final : public LoopKernel {
 public:
  BinaryKernel(BinaryLoop loop, Divisor rule) : loop_(loop), rule_(rule) {}
  void Compute(KernelContext& context) override {
    const TensorRef& b = context.input(1);
    if (rule_ != Divisor::kAny && context.input(0).NumElements() > 0) {
      b.dtype == DataType::kInt32 ? CheckDivisor<int32_t>(b, rule_) : CheckDivisor<int64_t>(b, rule_);
    }
    RunBinary(context, loop_);
  }
  ElementLoop OnlyLoop() const override { return {.binary = rule_ == Divisor::kAny ? loop_ : nullptr}; }

 private:
  BinaryLoop loop_;
  Divisor rule_;
};

class GradientKernel final : public LoopKernel {
 public:
  GradientKernel(const Node& node, BinaryLoop loop) : op_(node), loop_(loop) {}
  void Compute(KernelContext& context) override {
    op_.Plan(context);
    RunBinary(context, loop_);
  }
  ElementLoop OnlyLoop() const override { return {.binary = loop_}; }

 private:
  SameShapesOp op_;
  BinaryLoop loop_;
};

BinaryLoop LoopOf(const Node& node, BinaryOp op) {
  const DataType dtype = node.TypeAttr("T");
  const LoopType type = LoopTypeOf(node.op, dtype);
  const BinaryLoop loop = HostLoops().binary[static_cast<size_t>(op)][static_cast<size_t>(type)];
  if (loop == nullptr) ThrowNoLoop(node, dtype);
  return loop;
}

// Add of strings joins them. The output may be the memory of an input of the same size.
void JoinStrings(KernelContext& context) {
  const TensorRef& a = context.input(0);
  const TensorRef& b = context.input(1);
  const Shape shape = PlanPair(context);
  std::string* y = context.output().as<std::string>();
  ForEachPair(shape, a.shape, b.shape, [&](int64_t out, int64_t left, int64_t right) {
    y[out] = a.as<std::string>()[left] + b.as<std::string>()[right];
  });
}

std::unique_ptr<Kernel> MakeBinary(const Node& node) {
  if (node.op == "Add" && node.TypeAttr("T") == DataType::kString)
    return MakeFunctionKernel<JoinStrings>(node);
  const BinaryOp op = FindOp(kBinaryOps, node.op);
  return std::make_unique<BinaryKernel>(LoopOf(node, op), DivisorRule(op, node.TypeAttr("T")));
}

std::unique_ptr<Kernel> MakeGradient(const Node& node) {
  return std::make_unique<GradientKernel>(node, LoopOf(node, FindOp(kGradientOps, node.op)));
}

}  // namespace

void RegisterBinaryKernels(KernelRegistry& registry) {
  for (const auto& [name, op] : kBinaryOps) registry.Register(std::string(name), MakeBinary);
  for (const auto& [name, op] : kGradientOps) registry.Register(std::string(name), MakeGradient);
}

}  // namespace lanescope::exec
