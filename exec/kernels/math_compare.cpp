// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "exec/functors/binary.h"
#include "exec/functors/cast.h"
#include "exec/kernels/element_wise.h"
#include "exec/kernels/element_wise_plan.h"

namespace lanescope::exec {
namespace {

// Equality of strings, with broadcasting.
void CompareStrings(KernelContext& context, bool equal) {
  const TensorRef& a = context.input(0);
  const TensorRef& b = context.input(1);
  const Shape shape = PlanPair(context);
  bool* y = context.output().as<bool>();
  ForEachPair(shape, a.shape, b.shape, [&](int64_t out, int64_t left, int64_t right) {
    y[out] = (a.as<std::string>()[left] == b.as<std::string>()[right]) == equal;
  });
}

class CompareKernel final : public LoopKernel {
 public:
  explicit CompareKernel(const Node& node)
      : rule_(node),
        equal_(rule_.op() == CompareOp::kEqual),
        dtype_(node.TypeAttr("T")),
        loop_(FindLoop(node)) {}

  void Compute(KernelContext& context) override {
    if (rule_.AreUnequal(context)) {
      context.SetOutputShape(0, Shape{});
      *context.output().as<bool>() = !equal_;
    } else if (dtype_ == DataType::kString) {
      CompareStrings(context, equal_);
    } else {
      RunBinary(context, loop_);
    }
  }
  ElementLoop OnlyLoop() const override { return {.binary = loop_}; }

 private:
  BinaryLoop FindLoop(const Node& node) const {
    if (equal_ || rule_.op() == CompareOp::kNotEqual) {
      if (dtype_ == DataType::kString) return nullptr;
      if (dtype_ == DataType::kBool || dtype_ == DataType::kUint8 || dtype_ == DataType::kInt8) {
        return equal_ ? HostLoops().bool_equal : HostLoops().bool_not_equal;
      }
    }
    const LoopType type = LoopTypeOf(node.op, dtype_);
    return HostLoops().compare[static_cast<size_t>(rule_.op())][static_cast<size_t>(type)];
  }

  CompareOpRule rule_;
  bool equal_;
  DataType dtype_;
  BinaryLoop loop_;
};

class LogicalKernel final : public LoopKernel {
 public:
  explicit LogicalKernel(const Node& node)
      : loop_(node.op == "LogicalAnd" ? HostLoops().logical_and : HostLoops().logical_or) {}
  void Compute(KernelContext& context) override { RunBinary(context, loop_); }
  ElementLoop OnlyLoop() const override { return {.binary = loop_}; }

 private:
  BinaryLoop loop_;
};

void CompareNear(KernelContext& context, float tolerance) {
  const TensorRef& a = context.input(0);
  const TensorRef& b = context.input(1);
  bool* y = context.output().as<bool>();
  DispatchNumber("ApproximateEqual", a.dtype, [&]<typename T>(T) {
    const T limit = functors::Cast<T, float>()(tolerance);
    for (int64_t i = 0; i < a.NumElements(); ++i) {
      const T left = a.as<T>()[i];
      const T right = b.as<T>()[i];
      const functors::Sub minus;  // integers wrap around
      const T distance = left > right ? minus(left, right) : minus(right, left);
      y[i] = distance < limit;
    }
  });
}

}  // namespace

void RegisterCompareKernels(KernelRegistry& registry) {
  for (const auto& [name, op] : kCompareOps) registry.Register(std::string(name), MakeKernel<CompareKernel>);
  registry.Register("LogicalAnd", MakeKernel<LogicalKernel>);
  registry.Register("LogicalOr", MakeKernel<LogicalKernel>);
  RegisterOp<ApproximateEqualOp, CompareNear>(registry, "ApproximateEqual");
}

}  // namespace lanescope::exec
