#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/random.h"

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

template void RunRandom<float>(Launch&, Distribution, const StreamStart&, int64_t, float*);
template void RunRandom<double>(Launch&, Distribution, const StreamStart&, int64_t, double*);
template void RunRandomIntegers<int32_t>(Launch&, const StreamStart&, int64_t, uint64_t, int64_t, int32_t*);
template void RunRandomIntegers<int64_t>(Launch&, const StreamStart&, int64_t, uint64_t, int64_t, int64_t*);

}  // namespace lanescope::exec::cuda
