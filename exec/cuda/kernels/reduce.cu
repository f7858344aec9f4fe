// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/reduce.h"
#include "exec/cuda/kernels/reduce_plan.h"
#include "exec/functors/reduction.h"

namespace lanescope::exec::cuda {
namespace {

template <typename T>
__device__ T Finished(T total, Finish finish, int64_t divisor) {
  if constexpr (std::is_same_v<T, uint8_t>) return total != 0;  // a truth value, of nothing too
  if (finish == Finish::kNone) return total;
  if constexpr (std::is_floating_point_v<T>) {
    return finish == Finish::kDivide ? total / static_cast<T>(divisor) : functors::Sqrt()(total);
  } else {
    return divisor == 0 ? T(0) : static_cast<T>(total / static_cast<T>(divisor));
  }
}

// Grid: x along the results, y along the parts of a result. Results go to [part, kept].
template <typename F, typename T>
__global__ void ReduceKernel(ReducePlan plan, Finish finish, int64_t divisor, const T* x, T* result) {
  __shared__ T totals[kReduceThreads];
  const auto thread = static_cast<int64_t>(threadIdx.x);
  const int64_t output = blockIdx.x * plan.outputs_per_block + plan.OutputOf(thread);
  const int64_t lane = plan.LaneOf(thread);
  const int64_t part = blockIdx.y;
  const F op;
  T total = F::template Identity<T>();
  if (output < plan.kept.count) {
    const T* base = x + plan.kept.Offset(output);
    const int64_t begin = part * plan.part;
    const int64_t end = min(begin + plan.part, plan.reduced.count);
    const int64_t step = plan.lanes;
    int64_t i = begin + lane;
    // Four loads in flight, taken in order.
    for (; i + 3 * step < end; i += 4 * step) {
      const T a = base[plan.reduced.Offset(i)];
      const T b = base[plan.reduced.Offset(i + step)];
      const T c = base[plan.reduced.Offset(i + 2 * step)];
      const T d = base[plan.reduced.Offset(i + 3 * step)];
      total = op.Take(op.Take(op.Take(op.Take(total, a), b), c), d);
    }
    for (; i < end; i += step) total = op.Take(total, base[plan.reduced.Offset(i)]);
  }
  totals[thread] = total;
  __syncthreads();
  const int64_t apart = plan.columns_first ? plan.outputs_per_block : 1;
  for (int64_t half = plan.lanes / 2; half > 0; half /= 2) {
    if (lane < half) totals[thread] = op.Join(totals[thread], totals[thread + half * apart]);
    __syncthreads();
  }
  if (lane == 0 && output < plan.kept.count) {
    result[part * plan.kept.count + output] = Finished(totals[thread], finish, divisor);
  }
}

template <typename F, typename T>
void LaunchReduce(Launch& launch, const ReducePlan& plan, Finish finish, int64_t divisor, const T* x,
                  T* result) {
  constexpr int64_t kMostBlocks = int64_t{1} << 30;
  if (plan.column_blocks() > kMostBlocks) {
    throw Error(Code::kUnimplemented, "a reduction to more than 2^30 blocks of results has no CUDA kernel");
  }
  const dim3 grid(static_cast<unsigned>(plan.column_blocks()), static_cast<unsigned>(plan.parts));
  const auto threads = static_cast<unsigned>(plan.outputs_per_block * plan.lanes);
  ReduceKernel<F, T><<<grid, threads, 0, launch.stream()>>>(plan, finish, divisor, x, result);
  CheckLaunch("a reduction");
}

// Partial results are joined by Join: those of squares are summed, not squared again.
template <typename F, typename Join, typename T>
void Reduce(Launch& launch, const ReduceSpec& spec, const ReducePlan& plan, const T* x, T* result) {
  if (plan.parts == 1) return LaunchReduce<F>(launch, plan, spec.finish, spec.divisor, x, result);
  T* partial =
      static_cast<T*>(launch.Scratch(plan.parts * plan.kept.count * static_cast<int64_t>(sizeof(T))));
  LaunchReduce<F>(launch, plan, Finish::kNone, int64_t{1}, x, partial);
  LaunchReduce<Join>(launch, MakeJoinPlan(plan), spec.finish, spec.divisor, static_cast<const T*>(partial),
                     result);
}

template <typename T>
void ReduceOf(Launch& launch, const ReduceSpec& spec, const ReducePlan& plan, const void* x, void* result) {
  namespace f = functors;
  const T* in = static_cast<const T*>(x);
  T* out = static_cast<T*>(result);
  if (spec.op == ReduceOp::kMax) return Reduce<f::ReduceMax, f::ReduceMax>(launch, spec, plan, in, out);
  if (spec.op == ReduceOp::kMin) return Reduce<f::ReduceMin, f::ReduceMin>(launch, spec, plan, in, out);
  if constexpr (sizeof(T) > 1) {  // of truth values there are no sums
    if (spec.op == ReduceOp::kProd) return Reduce<f::ReduceProd, f::ReduceProd>(launch, spec, plan, in, out);
    if (spec.op == ReduceOp::kSum) return Reduce<f::ReduceSum, f::ReduceSum>(launch, spec, plan, in, out);
    Reduce<f::ReduceSumSquares, f::ReduceSum>(launch, spec, plan, in, out);
  }
}

}  // namespace

void RunReduce(Launch& launch, const ReduceSpec& spec, DataType dtype, const Shape& shape,
               const ReducedDims& gone, const void* x, void* result) {
  const ReducePlan plan = MakeReducePlan(shape, gone);
  if (plan.kept.count == 0) return;
  switch (dtype) {
    case DataType::kFloat:
      return ReduceOf<float>(launch, spec, plan, x, result);
    case DataType::kDouble:
      return ReduceOf<double>(launch, spec, plan, x, result);
    case DataType::kInt32:
      return ReduceOf<int32_t>(launch, spec, plan, x, result);
    case DataType::kInt64:
      return ReduceOf<int64_t>(launch, spec, plan, x, result);
    default:
      return ReduceOf<uint8_t>(launch, spec, plan, x, result);
  }
}

}  // namespace lanescope::exec::cuda
