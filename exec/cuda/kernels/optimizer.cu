#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/optimizer.h"
#include "exec/cuda/kernels/sparse.h"
#include "exec/functors/optimizer.h"

namespace lanescope::exec::cuda {
namespace {

// std::array has no device functions: the same in plain arrays.
template <typename T>
struct StepData {
  const T* scalars[6];
  T* slots[4];
  const T* grad;
  bool flag;
  bool by_rows;
};

template <typename T>
StepData<T> DataOf(const OptimizerStep<T>& step, bool by_rows) {
  StepData<T> data{};
  for (size_t i = 0; i < 6; ++i) data.scalars[i] = step.scalars[i];
  for (size_t i = 0; i < 4; ++i) data.slots[i] = step.slots[i];
  data.grad = step.grad;
  data.flag = step.flag;
  data.by_rows = by_rows;
  return data;
}

// Each: how a step is read from the scalars, and how many slots it has beside the variable.
template <typename T, Optimizer kind>
struct StepOf;

template <typename T>
struct StepOf<T, Optimizer::kGradientDescent> {
  static constexpr int kSlots = 0;
  __device__ static functors::GradientDescentStep<T> Make(const StepData<T>& d) { return {*d.scalars[0]}; }
};
template <typename T>
struct StepOf<T, Optimizer::kMomentum> {
  static constexpr int kSlots = 1;
  __device__ static functors::MomentumStep<T> Make(const StepData<T>& d) {
    return {*d.scalars[0], *d.scalars[1], d.flag};
  }
};
template <typename T>
struct StepOf<T, Optimizer::kKerasMomentum> {
  static constexpr int kSlots = 1;
  __device__ static functors::KerasMomentumStep<T> Make(const StepData<T>& d) {
    return {*d.scalars[0], *d.scalars[1], d.flag};
  }
};
template <typename T>
struct StepOf<T, Optimizer::kAdam> {
  static constexpr int kSlots = 2;
  __device__ static functors::AdamStep<T> Make(const StepData<T>& d) {
    const T rate = functors::AdamStep<T>::CorrectedRate(*d.scalars[0], *d.scalars[4], *d.scalars[5]);
    return {rate, *d.scalars[1], *d.scalars[2], *d.scalars[3], d.flag};
  }
};
template <typename T>
struct StepOf<T, Optimizer::kAdagrad> {
  static constexpr int kSlots = 1;
  __device__ static functors::AdagradStep<T> Make(const StepData<T>& d) { return {*d.scalars[0], d.flag}; }
};
template <typename T>
struct StepOf<T, Optimizer::kAdagradV2> {
  static constexpr int kSlots = 1;
  __device__ static functors::AdagradV2Step<T> Make(const StepData<T>& d) {
    return {*d.scalars[0], *d.scalars[1], d.flag};
  }
};
template <typename T>
struct StepOf<T, Optimizer::kRmsProp> {
  static constexpr int kSlots = 2;
  __device__ static functors::RmsPropStep<T> Make(const StepData<T>& d) {
    return {*d.scalars[0], *d.scalars[1], *d.scalars[2], *d.scalars[3]};
  }
};
template <typename T>
struct StepOf<T, Optimizer::kAdadelta> {
  static constexpr int kSlots = 2;
  __device__ static functors::AdadeltaStep<T> Make(const StepData<T>& d) {
    return {*d.scalars[0], *d.scalars[1], *d.scalars[2]};
  }
};
template <typename T>
struct StepOf<T, Optimizer::kCenteredRmsProp> {
  static constexpr int kSlots = 3;
  __device__ static functors::CenteredRmsPropStep<T> Make(const StepData<T>& d) {
    return {*d.scalars[0], *d.scalars[1], *d.scalars[2], *d.scalars[3]};
  }
};
template <typename T>
struct StepOf<T, Optimizer::kProximalAdagrad> {
  static constexpr int kSlots = 1;
  __device__ static functors::ProximalAdagradStep<T> Make(const StepData<T>& d) {
    return {*d.scalars[0], *d.scalars[1], *d.scalars[2]};
  }
};
template <typename T>
struct StepOf<T, Optimizer::kFtrl> {
  static constexpr int kSlots = 2;
  __device__ static functors::FtrlStep<T> Make(const StepData<T>& d) {
    const T shrinkage = d.scalars[4] == nullptr ? T(0) : *d.scalars[4];
    return {*d.scalars[0], *d.scalars[1], *d.scalars[2], *d.scalars[3], shrinkage, d.flag, d.by_rows};
  }
};

template <typename T, Optimizer kind, typename Step>
__device__ void Apply(const Step& step, const StepData<T>& d, int64_t from, int64_t to) {
  const T grad = d.grad[from];
  T var = d.slots[0][to];
  if constexpr (StepOf<T, kind>::kSlots == 0) {
    step(grad, var);
  } else if constexpr (StepOf<T, kind>::kSlots == 1) {
    T slot = d.slots[1][to];
    step(grad, var, slot);
    d.slots[1][to] = slot;
  } else if constexpr (StepOf<T, kind>::kSlots == 2) {
    T slot1 = d.slots[1][to];
    T slot2 = d.slots[2][to];
    step(grad, var, slot1, slot2);
    d.slots[1][to] = slot1;
    d.slots[2][to] = slot2;
  } else {
    T slot1 = d.slots[1][to];
    T slot2 = d.slots[2][to];
    T slot3 = d.slots[3][to];
    step(grad, var, slot1, slot2, slot3);
    d.slots[1][to] = slot1;
    d.slots[2][to] = slot2;
    d.slots[3][to] = slot3;
  }
  d.slots[0][to] = var;
}

template <typename T, Optimizer kind>
__global__ void DenseStepKernel(StepData<T> data, int64_t n) {
  const auto step = StepOf<T, kind>::Make(data);
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) Apply<T, kind>(step, data, i, i);
}

// The thread of the first update of a row takes all steps of that row, in order.
template <typename T, Optimizer kind>
__global__ void SparseStepKernel(StepData<T> data, int64_t rows, int64_t updates, Divider inner,
                                 const uint64_t* keys, const int32_t* order) {
  const auto step = StepOf<T, kind>::Make(data);
  const int64_t width = inner.divisor();
  for (int64_t i = ThreadIndex(); i < updates * width; i += ThreadCount()) {
    int64_t first = i;
    const int64_t column = inner.Split(first);
    const uint64_t row = keys[first];
    if (row >= static_cast<uint64_t>(rows) || (first > 0 && keys[first - 1] == row)) continue;
    const int64_t to = static_cast<int64_t>(row) * width + column;
    for (int64_t u = first; u < updates && keys[u] == row; ++u) {
      Apply<T, kind>(step, data, int64_t{order[u]} * width + column, to);
    }
  }
}

template <typename T, Optimizer kind>
void Dense(Launch& launch, const OptimizerStep<T>& step, int64_t n) {
  DenseStepKernel<T, kind><<<BlocksFor(n), kThreads, 0, launch.stream()>>>(DataOf(step, false), n);
}

struct SparseRows {
  int64_t rows, updates, inner;
  SortedUpdates sorted;
};

template <typename T, Optimizer kind>
void Sparse(Launch& launch, const OptimizerStep<T>& step, const SparseRows& rows) {
  SparseStepKernel<T, kind><<<BlocksFor(rows.updates * rows.inner), kThreads, 0, launch.stream()>>>(
      DataOf(step, true), rows.rows, rows.updates, Divider(rows.inner), rows.sorted.keys, rows.sorted.order);
}

#define LANESCOPE_EACH_OPTIMIZER(Run, ...)                            \
  switch (step.optimizer) {                                           \
    case Optimizer::kGradientDescent:                                 \
      Run<T, Optimizer::kGradientDescent>(launch, step, __VA_ARGS__); \
      break;                                                          \
    case Optimizer::kMomentum:                                        \
      Run<T, Optimizer::kMomentum>(launch, step, __VA_ARGS__);        \
      break;                                                          \
    case Optimizer::kKerasMomentum:                                   \
      Run<T, Optimizer::kKerasMomentum>(launch, step, __VA_ARGS__);   \
      break;                                                          \
    case Optimizer::kAdam:                                            \
      Run<T, Optimizer::kAdam>(launch, step, __VA_ARGS__);            \
      break;                                                          \
    case Optimizer::kAdagrad:                                         \
      Run<T, Optimizer::kAdagrad>(launch, step, __VA_ARGS__);         \
      break;                                                          \
    case Optimizer::kAdagradV2:                                       \
      Run<T, Optimizer::kAdagradV2>(launch, step, __VA_ARGS__);       \
      break;                                                          \
    case Optimizer::kRmsProp:                                         \
      Run<T, Optimizer::kRmsProp>(launch, step, __VA_ARGS__);         \
      break;                                                          \
    case Optimizer::kAdadelta:                                        \
      Run<T, Optimizer::kAdadelta>(launch, step, __VA_ARGS__);        \
      break;                                                          \
    case Optimizer::kCenteredRmsProp:                                 \
      Run<T, Optimizer::kCenteredRmsProp>(launch, step, __VA_ARGS__); \
      break;                                                          \
    case Optimizer::kProximalAdagrad:                                 \
      Run<T, Optimizer::kProximalAdagrad>(launch, step, __VA_ARGS__); \
      break;                                                          \
    case Optimizer::kFtrl:                                            \
      Run<T, Optimizer::kFtrl>(launch, step, __VA_ARGS__);            \
      break;                                                          \
  }

}  // namespace

template <typename T>
void RunOptimizer(Launch& launch, const OptimizerStep<T>& step, int64_t n) {
  if (n == 0) return;
  LANESCOPE_EACH_OPTIMIZER(Dense, n)
  CheckLaunch("an optimizer");
}

template <typename T>
void RunSparseOptimizer(Launch& launch, const OptimizerStep<T>& step, int64_t rows, int64_t updates,
                        int64_t inner, IndexReader row_of) {
  if (updates * inner == 0) return;
  const SparseRows sparse{rows, updates, inner, SortUpdates(launch, 0, rows, updates, row_of)};
  LANESCOPE_EACH_OPTIMIZER(Sparse, sparse)
  CheckLaunch("a sparse optimizer");
}
#undef LANESCOPE_EACH_OPTIMIZER

template void RunOptimizer<float>(Launch&, const OptimizerStep<float>&, int64_t);
template void RunOptimizer<double>(Launch&, const OptimizerStep<double>&, int64_t);
template void RunSparseOptimizer<float>(Launch&, const OptimizerStep<float>&, int64_t, int64_t, int64_t,
                                        IndexReader);
template void RunSparseOptimizer<double>(Launch&, const OptimizerStep<double>&, int64_t, int64_t, int64_t,
                                         IndexReader);

}  // namespace lanescope::exec::cuda
