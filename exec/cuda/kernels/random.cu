// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/random.h"
#include "exec/cuda/kernels/search.h"

namespace lanescope::exec::cuda {
namespace {

template <typename T>
__device__ void StoreGroup(const RandomGroup<T>& values, int64_t group, int64_t n, T* out) {
  for (int k = 0; k < kGroup<T>; ++k) {
    const int64_t at = group * kGroup<T> + k;
    if (at < n) out[at] = values[static_cast<size_t>(k)];
  }
}

// Kernels are named by these.
struct Uniform {
  static constexpr Distribution kKind = Distribution::kUniform;
};
struct Normal {
  static constexpr Distribution kKind = Distribution::kNormal;
};
struct TruncatedNormal {
  static constexpr Distribution kKind = Distribution::kTruncatedNormal;
};

template <typename Numbers, typename T>
__global__ void RandomKernel(StreamStart start, int64_t groups, int64_t n, T* out) {
  const Philox begin = start.At();
  for (int64_t group = ThreadIndex(); group < groups; group += ThreadCount()) {
    StoreGroup<T>(GroupOf<T>(Numbers::kKind, begin, group), group, n, out);
  }
}

template <typename T>
__global__ void RandomIntegersKernel(StreamStart start, int64_t low, uint64_t range, int64_t groups,
                                     int64_t n, T* out) {
  for (int64_t group = ThreadIndex(); group < groups; group += ThreadCount()) {
    Philox philox = start.At();
    philox.Skip(static_cast<uint64_t>(group));
    StoreGroup<T>(IntegerGroup(philox.Next(), low, range, T{}), group, n, out);
  }
}

// Running sums of the likelihoods of a row; what is not finite has none. A thread for each row.
template <typename T>
__global__ void LikelihoodsKernel(int64_t rows, int64_t classes, const T* logits, double* sums) {
  for (int64_t row = ThreadIndex(); row < rows; row += ThreadCount()) {
    const T* own = logits + row * classes;
    const auto finite = [](T value) { return value - value == T(0); };
    bool any = false;
    T largest = T(0);
    for (int64_t i = 0; i < classes; ++i) {
      if (!finite(own[i])) continue;
      largest = any && largest > own[i] ? largest : own[i];
      any = true;
    }
    double sum = 0;
    for (int64_t i = 0; i < classes; ++i) {
      if (finite(own[i])) sum += exp(static_cast<double>(own[i]) - static_cast<double>(largest));
      sums[row * classes + i] = sum;
    }
  }
}

template <typename Class>
__global__ void DrawKernel(StreamStart start, int64_t draws, Divider samples, int64_t classes,
                           const double* sums, Class* out) {
  for (int64_t draw = ThreadIndex(); draw < draws; draw += ThreadCount()) {
    int64_t row = draw;
    samples.Split(row);
    Philox philox = start.At();
    philox.Skip(static_cast<uint64_t>(draw) / 2);  // a block is two draws
    const Philox::Block words = philox.Next();
    const size_t word = static_cast<size_t>(draw % 2) * 2;
    const double* own = sums + row * classes;
    const double wanted = UnitDouble(words[word], words[word + 1]) * own[classes - 1];
    out[draw] = static_cast<Class>(UpperBound(own, classes, wanted));
  }
}

template <typename Numbers, typename T>
void LaunchRandom(Launch& launch, const StreamStart& start, int64_t groups, int64_t n, T* out) {
  RandomKernel<Numbers, T><<<BlocksFor(groups), kThreads, 0, launch.stream()>>>(start, groups, n, out);
}

template <typename T>
int64_t GroupsFor(int64_t n) {
  return (n + kGroup<T> - 1) / kGroup<T>;
}

}  // namespace

template <typename T>
void RunRandom(Launch& launch, Distribution distribution, const StreamStart& start, int64_t n, T* out) {
  if (n == 0) return;
  const int64_t groups = GroupsFor<T>(n);
  switch (distribution) {
    case Distribution::kUniform:
      LaunchRandom<Uniform>(launch, start, groups, n, out);
      break;
    case Distribution::kNormal:
      LaunchRandom<Normal>(launch, start, groups, n, out);
      break;
    case Distribution::kTruncatedNormal:
      LaunchRandom<TruncatedNormal>(launch, start, groups, n, out);
  }
  CheckLaunch("random numbers");
}

template <typename T>
void RunRandomIntegers(Launch& launch, const StreamStart& start, int64_t low, uint64_t range, int64_t n,
                       T* out) {
  if (n == 0) return;
  const int64_t groups = GroupsFor<T>(n);
  RandomIntegersKernel<T>
      <<<BlocksFor(groups), kThreads, 0, launch.stream()>>>(start, low, range, groups, n, out);
  CheckLaunch("random integers");
}

template <typename T, typename Class>
void RunMultinomial(Launch& launch, const StreamStart& start, int64_t rows, int64_t samples, int64_t classes,
                    const T* logits, double* sums, Class* out) {
  const int64_t draws = rows * samples;
  if (draws == 0) return;
  LikelihoodsKernel<T><<<BlocksFor(rows), kThreads, 0, launch.stream()>>>(rows, classes, logits, sums);
  CheckLaunch("likelihoods of classes");
  DrawKernel<Class><<<BlocksFor(draws), kThreads, 0, launch.stream()>>>(start, draws, Divider(samples),
                                                                        classes, sums, out);
  CheckLaunch("Multinomial");
}

#define LANESCOPE_MULTINOMIAL(T, Class)                                                                    \
  template void RunMultinomial<T, Class>(Launch&, const StreamStart&, int64_t, int64_t, int64_t, const T*, \
                                         double*, Class*);
LANESCOPE_MULTINOMIAL(float, int32_t)
LANESCOPE_MULTINOMIAL(float, int64_t)
LANESCOPE_MULTINOMIAL(double, int32_t)
LANESCOPE_MULTINOMIAL(double, int64_t)
#undef LANESCOPE_MULTINOMIAL
template void RunRandom<float>(Launch&, Distribution, const StreamStart&, int64_t, float*);
template void RunRandom<double>(Launch&, Distribution, const StreamStart&, int64_t, double*);
template void RunRandomIntegers<int32_t>(Launch&, const StreamStart&, int64_t, uint64_t, int64_t, int32_t*);
template void RunRandomIntegers<int64_t>(Launch&, const StreamStart&, int64_t, uint64_t, int64_t, int64_t*);

}  // namespace lanescope::exec::cuda
