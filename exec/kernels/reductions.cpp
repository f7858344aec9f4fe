#include "exec/kernels/reductions.h"

#include <cmath>
#include <vector>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/reduce.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

ReducedDims AxesOf(const TensorRef& axes, int rank) {
  ReducedDims reduced{};
  for (int64_t axis : ReadInts(axes)) {
    if (axis < -rank || axis >= rank) {
      Throw(Code::kInvalidArgument, "Invalid reduction dimension ({} for input with {} dimension(s))", axis,
            rank);
    }
    const int64_t dimension = axis < 0 ? axis + rank : axis;
    bool& gone = reduced[static_cast<size_t>(dimension)];
    if (gone) {
      Throw(Code::kInvalidArgument, "Invalid reduction arguments: Axes contains duplicate dimension: {}",
            dimension);
    }
    gone = true;
  }
  return reduced;
}

Shape ReducedShape(const Shape& shape, const ReducedDims& reduced, bool keep_dims) {
  Shape result;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!reduced[static_cast<size_t>(i)]) {
      result.Append(shape[i]);
    } else if (keep_dims) {
      result.Append(1);
    }
  }
  return result;
}

int64_t ReducedCount(const Shape& shape, const ReducedDims& reduced) {
  int64_t count = 1;
  for (int i = 0; i < shape.rank(); ++i) count *= reduced[static_cast<size_t>(i)] ? shape[i] : 1;
  return count;
}

// Sum, Prod, Max, Min; Mean divides the sum, EuclideanNorm takes the root of the sum of squares.
class ReductionKernel final : public Kernel {
 public:
  explicit ReductionKernel(const Node& node)
      : keep_dims_(node.BoolAttr("keep_dims", false)),
        mean_(node.op == "Mean"),
        norm_(node.op == "EuclideanNorm"),
        op_(OpOf(node.op)),
        type_(LoopTypeOf(node.op, node.TypeAttr("T"))) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const ReducedDims reduced = AxesOf(context.input(1), x.shape.rank());
    context.SetOutputShape(0, ReducedShape(x.shape, reduced, keep_dims_));
    const TensorRef& y = context.output();
    if (mean_ && x.dtype == DataType::kInt32) return MeanOfInt32(context.team(), x, reduced, y);
    const auto bytes = static_cast<int64_t>(ElementSize(x.dtype));
    ReduceTensor(context.team(), op_, type_, bytes, x.shape, reduced, x.data, y.data);
    if (!mean_ && !norm_) return;
    DispatchNumber("Mean", y.dtype, [&]<typename T>(T) {
      const auto count = static_cast<T>(ReducedCount(x.shape, reduced));
      T* values = y.as<T>();
      for (int64_t i = 0; i < y.NumElements(); ++i) values[i] = Finish(values[i], count);
    });
  }

 private:
  // The sum is made in 64 bits, as TensorFlow's.
  static void MeanOfInt32(WorkerTeam& team, const TensorRef& x, const ReducedDims& reduced,
                          const TensorRef& y) {
    const std::vector<int64_t> wide(x.as<int32_t>(), x.as<int32_t>() + x.NumElements());
    std::vector<int64_t> totals(static_cast<size_t>(y.NumElements()));
    ReduceTensor(team, ReduceOp::kSum, LoopType::kInt64, sizeof(int64_t), x.shape, reduced, wide.data(),
                 totals.data());
    const int64_t count = std::max<int64_t>(1, ReducedCount(x.shape, reduced));
    for (size_t i = 0; i < totals.size(); ++i) y.as<int32_t>()[i] = static_cast<int32_t>(totals[i] / count);
  }

  static ReduceOp OpOf(const std::string& op) {
    if (op == "Prod") return ReduceOp::kProd;
    if (op == "Max") return ReduceOp::kMax;
    if (op == "Min") return ReduceOp::kMin;
    return op == "EuclideanNorm" ? ReduceOp::kSumSquares : ReduceOp::kSum;
  }

  template <typename T>
  T Finish(T total, T count) const {
    if (norm_) return static_cast<T>(std::sqrt(total));
    if constexpr (std::is_integral_v<T>) {
      return count == 0 ? T(0) : total / count;
    } else {
      return total / count;
    }
  }

  bool keep_dims_;
  bool mean_;
  bool norm_;
  ReduceOp op_;
  LoopType type_;
};

// Any and All: the maximum or minimum of zeros and ones.
class LogicalReductionKernel final : public Kernel {
 public:
  explicit LogicalReductionKernel(const Node& node)
      : keep_dims_(node.BoolAttr("keep_dims", false)), any_(node.op == "Any") {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const ReducedDims reduced = AxesOf(context.input(1), x.shape.rank());
    context.SetOutputShape(0, ReducedShape(x.shape, reduced, keep_dims_));
    const TensorRef& y = context.output();
    const std::vector<int32_t> wide(x.as<bool>(), x.as<bool>() + x.NumElements());
    std::vector<int32_t> result(static_cast<size_t>(y.NumElements()));
    ReduceTensor(context.team(), any_ ? ReduceOp::kMax : ReduceOp::kMin, LoopType::kInt32, sizeof(int32_t),
                 x.shape, reduced, wide.data(), result.data());
    // Of nothing, the identities are the smallest and the largest integer: false and true.
    for (size_t i = 0; i < result.size(); ++i) y.as<bool>()[i] = result[i] > 0;
  }

 private:
  bool keep_dims_;
  bool any_;
};

// sum(x^2) / 2
class L2LossKernel final : public Kernel {
 public:
  explicit L2LossKernel(const Node& node) : type_(LoopTypeOf(node.op, node.TypeAttr("T"))) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    context.SetOutputShape(0, Shape{});
    const TensorRef& y = context.output();
    ReducedDims all;
    all.fill(true);
    ReduceTensor(context.team(), ReduceOp::kSumSquares, type_, static_cast<int64_t>(ElementSize(x.dtype)),
                 x.shape, all, x.data, y.data);
    DispatchReal("L2Loss", y.dtype, [&]<typename T>(T) { *y.as<T>() /= T(2); });
  }

 private:
  LoopType type_;
};

}  // namespace

void RegisterReductionKernels(KernelRegistry& registry) {
  for (const char* op : {"Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"}) {
    registry.Register(op, MakeKernel<ReductionKernel>);
  }
  registry.Register("Any", MakeKernel<LogicalReductionKernel>);
  registry.Register("All", MakeKernel<LogicalReductionKernel>);
  registry.Register("L2Loss", MakeKernel<L2LossKernel>);
  RegisterArgKernels(registry);
  RegisterScanKernels(registry);
}

}  // namespace lanescope::exec
