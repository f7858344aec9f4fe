#include <algorithm>
#include <utility>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/element_wise_ops.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// Equality of strings, with broadcasting.
void CompareStrings(KernelContext& context, bool equal) {
  const TensorRef& a = context.input(0);
  const TensorRef& b = context.input(1);
  const Shape shape = BroadcastShapes(a.shape, b.shape);
  context.SetOutputShape(0, shape);
  bool* y = context.output().as<bool>();
  ForEachPair(shape, a.shape, b.shape, [&](int64_t out, int64_t left, int64_t right) {
    y[out] = (a.as<std::string>()[left] == b.as<std::string>()[right]) == equal;
  });
}

bool CanBroadcast(const Shape& a, const Shape& b) {
  for (int back = 1; back <= std::min(a.rank(), b.rank()); ++back) {
    const int64_t left = a[a.rank() - back];
    const int64_t right = b[b.rank() - back];
    if (left != right && left != 1 && right != 1) return false;
  }
  return true;
}

class CompareKernel final : public Kernel {
 public:
  explicit CompareKernel(const Node& node)
      : equal_(node.op == "Equal"),
        dtype_(node.TypeAttr("T")),
        mismatch_allowed_((equal_ || node.op == "NotEqual") &&
                          !node.BoolAttr("incompatible_shape_error", true)),
        loop_(FindLoop(node)) {}

  void Compute(KernelContext& context) override {
    // Two tensors whose shapes do not fit are simply not equal, where the graph asks for that.
    if (mismatch_allowed_ && !CanBroadcast(context.input(0).shape, context.input(1).shape)) {
      context.SetOutputShape(0, Shape{});
      *context.output().as<bool>() = !equal_;
    } else if (dtype_ == DataType::kString) {
      CompareStrings(context, equal_);
    } else {
      RunBinary(context, loop_);
    }
  }

 private:
  BinaryLoop FindLoop(const Node& node) const {
    if (equal_ || node.op == "NotEqual") {
      if (dtype_ == DataType::kString) return nullptr;
      if (dtype_ == DataType::kBool || dtype_ == DataType::kUint8 || dtype_ == DataType::kInt8) {
        return equal_ ? HostLoops().bool_equal : HostLoops().bool_not_equal;
      }
    }
    const LoopType type = LoopTypeOf(node.op, dtype_);
    for (const auto& [name, op] : kCompareOps) {
      if (name == node.op) return HostLoops().compare[static_cast<size_t>(op)][static_cast<size_t>(type)];
    }
    ThrowNoLoop(node, dtype_);
  }

  bool equal_;
  DataType dtype_;
  bool mismatch_allowed_;
  BinaryLoop loop_;
};

class LogicalKernel final : public Kernel {
 public:
  explicit LogicalKernel(const Node& node)
      : loop_(node.op == "LogicalAnd" ? HostLoops().logical_and : HostLoops().logical_or) {}
  void Compute(KernelContext& context) override { RunBinary(context, loop_); }

 private:
  BinaryLoop loop_;
};

// |x - y| < tolerance, element by element.
class ApproximateEqualKernel final : public Kernel {
 public:
  explicit ApproximateEqualKernel(const Node& node) : tolerance_(node.FloatAttr("tolerance", 1e-5f)) {}
  void Compute(KernelContext& context) override {
    const TensorRef& a = context.input(0);
    const TensorRef& b = context.input(1);
    if (!(a.shape == b.shape)) {
      Throw(Code::kInvalidArgument, "x and y must be of the same shape. x shape: {}. y shape: {}",
            a.shape.ToString(), b.shape.ToString());
    }
    context.SetOutputShape(0, a.shape);
    bool* y = context.output().as<bool>();
    DispatchNumber("ApproximateEqual", a.dtype, [&]<typename T>(T) {
      for (int64_t i = 0; i < a.NumElements(); ++i) {
        const T left = a.as<T>()[i];
        const T right = b.as<T>()[i];
        const T distance = left > right ? left - right : right - left;
        y[i] = distance < static_cast<T>(tolerance_);
      }
    });
  }

 private:
  float tolerance_;
};

}  // namespace

void RegisterCompareKernels(KernelRegistry& registry) {
  for (const auto& [name, op] : kCompareOps) registry.Register(std::string(name), MakeKernel<CompareKernel>);
  registry.Register("LogicalAnd", MakeKernel<LogicalKernel>);
  registry.Register("LogicalOr", MakeKernel<LogicalKernel>);
  registry.Register("ApproximateEqual", MakeKernel<ApproximateEqualKernel>);
}

}  // namespace lanescope::exec
