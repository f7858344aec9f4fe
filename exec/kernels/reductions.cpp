// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/reductions.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "exec/functors/cast.h"
#include "exec/kernels/reduce.h"

namespace lanescope::exec {
namespace {

// Any and All: the maximum or minimum of zeros and ones. Of nothing, the identities are the smallest and the
// largest integer: false and true.
void ReduceBools(KernelContext& context, const ReductionPlan& plan) {
  const TensorRef& x = context.input(0);
  const TensorRef& y = context.output();
  const std::vector<int32_t> wide(x.as<bool>(), x.as<bool>() + x.NumElements());
  std::vector<int32_t> result(static_cast<size_t>(y.NumElements()));
  ReduceTensor(context.team(), plan.spec.op, LoopType::kInt32, sizeof(int32_t), x.shape, plan.gone,
               wide.data(), result.data());
  for (size_t i = 0; i < result.size(); ++i) y.as<bool>()[i] = result[i] > 0;
}

// The sum is made in 64 bits, as TensorFlow's.
void MeanOfInt32(KernelContext& context, const ReductionPlan& plan) {
  const TensorRef& x = context.input(0);
  const std::vector<int64_t> wide(x.as<int32_t>(), x.as<int32_t>() + x.NumElements());
  std::vector<int64_t> totals(static_cast<size_t>(context.output().NumElements()));
  ReduceTensor(context.team(), ReduceOp::kSum, LoopType::kInt64, sizeof(int64_t), x.shape, plan.gone,
               wide.data(), totals.data());
  const int64_t count = std::max<int64_t>(1, plan.spec.divisor);
  int32_t* means = context.output().as<int32_t>();
  for (size_t i = 0; i < totals.size(); ++i) means[i] = static_cast<int32_t>(totals[i] / count);
}

template <typename T>
void FinishReduction(T* values, int64_t n, const ReduceSpec& spec) {
  const auto divisor = static_cast<T>(spec.divisor);
  if (spec.finish == Finish::kSquareRoot) {
    // Squares of integers may have wrapped around to less than nothing.
    using Root = decltype(std::sqrt(T()));
    for (int64_t i = 0; i < n; ++i) values[i] = functors::Cast<T, Root>()(std::sqrt(values[i]));
  } else if (std::is_integral_v<T> && divisor == T(0)) {
    std::fill_n(values, n, T(0));
  } else if (divisor != T(1)) {
    for (int64_t i = 0; i < n; ++i) values[i] /= divisor;
  }
}

void Reduce(KernelContext& context, const ReductionPlan& plan) {
  const TensorRef& x = context.input(0);
  const TensorRef& y = context.output();
  if (x.dtype == DataType::kBool) return ReduceBools(context, plan);
  if (plan.spec.finish == Finish::kDivide && x.dtype == DataType::kInt32) return MeanOfInt32(context, plan);
  ReduceTensor(context.team(), plan.spec.op, LoopTypeOf("a reduction", x.dtype),
               static_cast<int64_t>(ElementSize(x.dtype)), x.shape, plan.gone, x.data, y.data);
  if (plan.spec.finish == Finish::kNone) return;
  DispatchNumber("a reduction", y.dtype,
                 [&]<typename T>(T) { FinishReduction(y.as<T>(), y.NumElements(), plan.spec); });
}

}  // namespace

void RegisterReductionKernels(KernelRegistry& registry) {
  RegisterReductionOps<Reduce, FindExtremes, SumRunning>(registry);
}

}  // namespace lanescope::exec
