#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/index_reader.h"
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

// --- the first largest or smallest element ---

// What a thread has found: an index and its element; index -1: nothing yet.
template <typename T>
struct Found {
  T value;
  int64_t index;
};

// The better of two findings: strictly larger (smaller), or the first of equal ones.
template <typename T>
__device__ Found<T> Better(bool largest, Found<T> a, Found<T> b) {
  if (a.index < 0) return b;
  if (b.index < 0) return a;
  const bool b_wins = largest ? b.value > a.value : b.value < a.value;
  const bool a_wins = largest ? a.value > b.value : a.value < b.value;
  if (b_wins || (!a_wins && b.index < a.index)) return b;
  return a;
}

// A warp for each result. As on the host, the search begins with the lowest (highest) value at index 0, so an
// element must beat that one to be found.
template <typename T>
__global__ void ArgKernel(bool largest, int64_t outputs, int64_t length, Divider inner, T start, const T* x,
                          int index_bytes, void* result) {
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t stride = inner.divisor();
  for (int64_t output = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; output < outputs;
       output += static_cast<int64_t>(gridDim.x) * blockDim.y) {
    int64_t outer = output;
    const int64_t column = inner.Split(outer);
    const T* base = x + outer * length * stride + column;
    Found<T> best{start, -1};
    for (int64_t i = lane; i < length; i += 32) {
      const T value = base[i * stride];
      const T record = best.index < 0 ? start : best.value;
      if (largest ? value > record : value < record) best = {value, i};
    }
    for (int half = 16; half > 0; half /= 2) {
      Found<T> other;
      other.value = __shfl_down_sync(0xFFFFFFFFu, best.value, half);
      other.index = __shfl_down_sync(0xFFFFFFFFu, best.index, half);
      best = Better(largest, best, other);
    }
    if (lane != 0) continue;
    const int64_t found = best.index < 0 ? 0 : best.index;
    if (index_bytes == 4) {
      static_cast<int32_t*>(result)[output] = static_cast<int32_t>(found);
    } else {
      static_cast<int64_t*>(result)[output] = found;
    }
  }
}

constexpr unsigned kWarpsPerBlock = 8;

unsigned WarpBlocks(int64_t warps) { return BlocksFor(warps, static_cast<int>(kWarpsPerBlock)); }

template <typename T>
void Arg(Launch& launch, bool largest, int64_t outer, int64_t length, int64_t inner, const void* x,
         int index_bytes, void* result) {
  T start;
  if constexpr (std::is_floating_point_v<T>) {
    start = largest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  } else {
    start = largest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  }
  const int64_t outputs = outer * inner;
  ArgKernel<T><<<WarpBlocks(outputs), dim3(32, kWarpsPerBlock), 0, launch.stream()>>>(
      largest, outputs, length, Divider(inner), start, static_cast<const T*>(x), index_bytes, result);
  CheckLaunch("ArgMax");
}

// --- running sums ---

template <typename T>
struct AnyScan {
  bool product;
  __device__ T Identity() const { return product ? T(1) : T(0); }
  __device__ T operator()(T a, T b) const { return product ? functors::Mul()(a, b) : functors::Add()(a, b); }
};

struct ScanMap {
  int64_t lines;
  int64_t length;
  Divider inner;
  bool exclusive;
  bool reverse;

  __device__ int64_t Base(int64_t line) const {
    const int64_t column = inner.Split(line);
    return line * length * inner.divisor() + column;
  }
  __device__ int64_t Place(int64_t i) const { return (reverse ? length - 1 - i : i) * inner.divisor(); }
};

// A thread for each line.
template <typename T>
__global__ void ScanLinesKernel(AnyScan<T> op, ScanMap map, const T* x, T* y) {
  for (int64_t line = ThreadIndex(); line < map.lines; line += ThreadCount()) {
    const int64_t base = map.Base(line);
    T total = op.Identity();
    for (int64_t i = 0; i < map.length; ++i) {
      const int64_t at = base + map.Place(i);
      const T next = op(total, x[at]);
      y[at] = map.exclusive ? total : next;
      total = next;
    }
  }
}

// A block for each line, kThreads elements at a time.
template <typename T>
__global__ void ScanLongLinesKernel(AnyScan<T> op, ScanMap map, const T* x, T* y) {
  __shared__ T sums[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t line = blockIdx.x; line < map.lines; line += gridDim.x) {
    const int64_t base = map.Base(line);
    T carried = op.Identity();
    for (int64_t begin = 0; begin < map.length; begin += kThreads) {
      const int64_t i = begin + thread;
      const bool inside = i < map.length;
      const int64_t at = base + (inside ? map.Place(i) : 0);
      sums[thread] = inside ? x[at] : op.Identity();
      __syncthreads();
      for (int step = 1; step < kThreads; step *= 2) {
        T before = op.Identity();
        if (thread >= step) before = sums[thread - step];
        __syncthreads();
        if (thread >= step) sums[thread] = op(before, sums[thread]);
        __syncthreads();
      }
      if (inside) {
        if (!map.exclusive) {
          y[at] = op(carried, sums[thread]);
        } else {
          y[at] = thread == 0 ? carried : op(carried, sums[thread - 1]);
        }
      }
      carried = op(carried, sums[kThreads - 1]);
      __syncthreads();
    }
  }
}

template <typename T>
void Scan(Launch& launch, const ScanSpec& spec, const ScanMap& map, const void* x, void* y) {
  const AnyScan<T> op{spec.product};
  const T* in = static_cast<const T*>(x);
  T* out = static_cast<T*>(y);
  if (map.length <= 32 || map.lines > 8192) {
    ScanLinesKernel<T><<<BlocksFor(map.lines), kThreads, 0, launch.stream()>>>(op, map, in, out);
  } else {
    ScanLongLinesKernel<T><<<BlocksFor(map.lines, 1), kThreads, 0, launch.stream()>>>(op, map, in, out);
  }
  CheckLaunch("a cumulative sum");
}

// --- the largest k ---

// Whether (a, i) comes before (b, j): larger first, of equal ones the lower number.
template <typename T>
__device__ bool Before(T a, int64_t i, T b, int64_t j) {
  return a > b || (!(b > a) && i < j);
}

// A block for each row finds the largest element after the last one found, k times.
template <typename T>
__global__ void TopKKernel(int64_t rows, int64_t columns, int64_t k, const T* x, T* values,
                           int32_t* numbers) {
  __shared__ T best_value[kThreads];
  __shared__ int64_t best_number[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* in = x + row * columns;
    T last = T(0);
    int64_t last_number = -1;
    for (int64_t place = 0; place < k; ++place) {
      T best = T(0);
      int64_t number = -1;
      for (int64_t i = thread; i < columns; i += kThreads) {
        const T value = in[i];
        if (last_number >= 0 && !Before(last, last_number, value, i)) continue;
        if (number < 0 || Before(value, i, best, number)) {
          best = value;
          number = i;
        }
      }
      best_value[thread] = best;
      best_number[thread] = number;
      __syncthreads();
      for (int half = kThreads / 2; half > 0; half /= 2) {
        if (thread < half) {
          const int64_t other = best_number[thread + half];
          const int64_t own = best_number[thread];
          if (other >= 0 && (own < 0 || Before(best_value[thread + half], other, best_value[thread], own))) {
            best_value[thread] = best_value[thread + half];
            best_number[thread] = other;
          }
        }
        __syncthreads();
      }
      last_number = best_number[0];
      last = best_value[0];
      // NaN defies order: whatever is left then counts as the first element.
      if (last_number < 0) {
        last_number = 0;
        last = in[0];
      }
      if (thread == 0) {
        values[row * k + place] = last;
        numbers[row * k + place] = static_cast<int32_t>(last_number);
      }
      __syncthreads();
    }
  }
}

template <typename T>
void TopK(Launch& launch, int64_t rows, int64_t columns, int64_t k, const void* x, void* values,
          int32_t* numbers) {
  TopKKernel<T><<<BlocksFor(rows, 1), kThreads, 0, launch.stream()>>>(
      rows, columns, k, static_cast<const T*>(x), static_cast<T*>(values), numbers);
  CheckLaunch("TopK");
}

// A warp for each row.
__global__ void InTopKKernel(int64_t rows, int64_t classes, IndexReader targets, IndexReader k,
                             const float* predictions, bool* result) {
  const int lane = static_cast<int>(threadIdx.x);
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; row < rows;
       row += static_cast<int64_t>(gridDim.x) * blockDim.y) {
    const int64_t target = targets[row];
    const float* line = predictions + row * classes;
    const bool in_range = target >= 0 && target < classes;
    const float wanted = in_range ? line[target] : 0.0f;
    int64_t more = 0;
    int64_t bad = in_range ? 0 : 1;
    for (int64_t i = lane; i < classes; i += 32) {
      more += line[i] > wanted ? 1 : 0;
      bad += functors::IsFinite()(line[i]) ? 0 : 1;
    }
    for (int half = 16; half > 0; half /= 2) {
      more += __shfl_down_sync(0xFFFFFFFFu, more, half);
      bad += __shfl_down_sync(0xFFFFFFFFu, bad, half);
    }
    if (lane == 0) result[row] = bad == 0 && more < k[0];
  }
}

}  // namespace

void RunReduce(Launch& launch, const ReduceSpec& spec, DataType dtype, const Shape& shape,
               const std::array<bool, Shape::kMaxRank>& gone, const void* x, void* result) {
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

void RunArg(Launch& launch, bool largest, DataType dtype, int64_t outer, int64_t length, int64_t inner,
            const void* x, int index_bytes, void* result) {
  if (outer * inner == 0) return;
  switch (dtype) {
    case DataType::kFloat:
      return Arg<float>(launch, largest, outer, length, inner, x, index_bytes, result);
    case DataType::kDouble:
      return Arg<double>(launch, largest, outer, length, inner, x, index_bytes, result);
    case DataType::kInt32:
      return Arg<int32_t>(launch, largest, outer, length, inner, x, index_bytes, result);
    default:
      return Arg<int64_t>(launch, largest, outer, length, inner, x, index_bytes, result);
  }
}

void RunScan(Launch& launch, const ScanSpec& spec, LoopType type, int64_t outer, int64_t length,
             int64_t inner, const void* x, void* y) {
  if (outer * length * inner == 0) return;
  const ScanMap map{outer * inner, length, Divider(inner), spec.exclusive, spec.reverse};
  switch (type) {
    case LoopType::kFloat:
      return Scan<float>(launch, spec, map, x, y);
    case LoopType::kDouble:
      return Scan<double>(launch, spec, map, x, y);
    case LoopType::kInt32:
      return Scan<int32_t>(launch, spec, map, x, y);
    default:
      return Scan<int64_t>(launch, spec, map, x, y);
  }
}

void RunTopK(Launch& launch, LoopType type, int64_t rows, int64_t columns, int64_t k, const void* x,
             void* values, int32_t* numbers) {
  if (rows * k == 0) return;
  switch (type) {
    case LoopType::kFloat:
      return TopK<float>(launch, rows, columns, k, x, values, numbers);
    case LoopType::kDouble:
      return TopK<double>(launch, rows, columns, k, x, values, numbers);
    case LoopType::kInt32:
      return TopK<int32_t>(launch, rows, columns, k, x, values, numbers);
    default:
      return TopK<int64_t>(launch, rows, columns, k, x, values, numbers);
  }
}

void RunInTopK(Launch& launch, int64_t rows, int64_t classes, int index_bytes, const float* predictions,
               const void* targets, const void* k, bool* result) {
  if (rows == 0) return;
  InTopKKernel<<<WarpBlocks(rows), dim3(32, kWarpsPerBlock), 0, launch.stream()>>>(
      rows, classes, IndexReader{targets, index_bytes}, IndexReader{k, index_bytes}, predictions, result);
  CheckLaunch("InTopK");
}

}  // namespace lanescope::exec::cuda
