#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/reduce.h"
#include "exec/cuda/kernels/reduce_plan.h"
#include "exec/functors/reduction.h"

namespace lanescope::exec::cuda {
namespace {

// The op is chosen inside the kernel.
template <typename T>
struct AnyReduce {
  ReduceOp op;
  __device__ T Identity() const {
    switch (op) {
      case ReduceOp::kProd:
        return functors::ReduceProd::Identity<T>();
      case ReduceOp::kMax:
        return functors::ReduceMax::Identity<T>();
      case ReduceOp::kMin:
        return functors::ReduceMin::Identity<T>();
      default:
        return functors::ReduceSum::Identity<T>();
    }
  }
  __device__ T Take(T total, T x) const {
    return op == ReduceOp::kSumSquares ? functors::ReduceSumSquares().Take(total, x) : Join(total, x);
  }
  __device__ T Join(T a, T b) const {
    switch (op) {
      case ReduceOp::kProd:
        return functors::ReduceProd().Join(a, b);
      case ReduceOp::kMax:
        return functors::ReduceMax().Join(a, b);
      case ReduceOp::kMin:
        return functors::ReduceMin().Join(a, b);
      default:
        return functors::ReduceSum().Join(a, b);
    }
  }
};

template <typename T>
struct SumReduce {
  __device__ T Identity() const { return functors::ReduceSum::Identity<T>(); }
  __device__ T Take(T total, T x) const { return functors::ReduceSum().Take(total, x); }
  __device__ T Join(T a, T b) const { return functors::ReduceSum().Join(a, b); }
};

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
__global__ void ReduceKernel(F op, ReducePlan plan, Finish finish, int64_t divisor, const T* x, T* result) {
  __shared__ T totals[kReduceThreads];
  const auto thread = static_cast<int64_t>(threadIdx.x);
  const int64_t output = blockIdx.x * plan.outputs_per_block + plan.OutputOf(thread);
  const int64_t lane = plan.LaneOf(thread);
  const int64_t part = blockIdx.y;
  T total = op.Identity();
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
void LaunchReduce(Launch& launch, F op, const ReducePlan& plan, Finish finish, int64_t divisor, const T* x,
                  T* result) {
  constexpr int64_t kMostBlocks = int64_t{1} << 30;
  if (plan.column_blocks() > kMostBlocks) {
    throw Error(Code::kUnimplemented, "a reduction to more than 2^30 blocks of results has no CUDA kernel");
  }
  const dim3 grid(static_cast<unsigned>(plan.column_blocks()), static_cast<unsigned>(plan.parts));
  const auto threads = static_cast<unsigned>(plan.outputs_per_block * plan.lanes);
  ReduceKernel<F, T><<<grid, threads, 0, launch.stream()>>>(op, plan, finish, divisor, x, result);
  CheckLaunch("a reduction");
}

template <typename T, typename F>
void Reduce(Launch& launch, F op, F join, const ReduceSpec& spec, const ReducePlan& plan, const void* x,
            void* result) {
  const T* in = static_cast<const T*>(x);
  T* out = static_cast<T*>(result);
  if (plan.parts == 1) return LaunchReduce(launch, op, plan, spec.finish, spec.divisor, in, out);
  T* partial =
      static_cast<T*>(launch.Scratch(plan.parts * plan.kept.count * static_cast<int64_t>(sizeof(T))));
  LaunchReduce(launch, op, plan, Finish::kNone, int64_t{1}, in, partial);
  LaunchReduce(launch, join, MakeJoinPlan(plan), spec.finish, spec.divisor, static_cast<const T*>(partial),
               out);
}

template <typename T>
void ReduceAny(Launch& launch, const ReduceSpec& spec, const ReducePlan& plan, const void* x, void* result) {
  // Partial sums of squares are summed, not squared again.
  const ReduceOp join = spec.op == ReduceOp::kSumSquares ? ReduceOp::kSum : spec.op;
  Reduce<T>(launch, AnyReduce<T>{spec.op}, AnyReduce<T>{join}, spec, plan, x, result);
}

}  // namespace

void RunReduce(Launch& launch, const ReduceSpec& spec, DataType dtype, const Shape& shape,
               const ReducedDims& gone, const void* x, void* result) {
  const ReducePlan plan = MakeReducePlan(shape, gone);
  if (plan.kept.count == 0) return;
  switch (dtype) {
    case DataType::kFloat:
      if (spec.op == ReduceOp::kSum) {
        return Reduce<float>(launch, SumReduce<float>(), SumReduce<float>(), spec, plan, x, result);
      }
      return ReduceAny<float>(launch, spec, plan, x, result);
    case DataType::kDouble:
      return ReduceAny<double>(launch, spec, plan, x, result);
    case DataType::kInt32:
      return ReduceAny<int32_t>(launch, spec, plan, x, result);
    case DataType::kInt64:
      return ReduceAny<int64_t>(launch, spec, plan, x, result);
    default:
      return ReduceAny<uint8_t>(launch, spec, plan, x, result);
  }
}

}  // namespace lanescope::exec::cuda
