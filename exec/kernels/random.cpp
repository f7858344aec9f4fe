// SPDX-License-Identifier: Apache-2.0
// Random tensors on host memory, number by number those of TensorFlow's CPU kernels for the same seeds. Every
// group of outputs has its own place in the stream, so that work can be split anywhere.
#include <algorithm>

#include "exec/kernels/random_plan.h"
#include "exec/kernels/stateless_random.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kGroupsPerGrain = 4096;

// Fills out[0, size) by groups: fill(begin, end, store) makes groups [begin, end) and stores each one.
template <typename T, typename Fill>
void FillGroups(T* out, int64_t size, WorkerTeam& team, const Fill& fill) {
  const int64_t groups = (size + kGroup<T> - 1) / kGroup<T>;
  team.ParallelFor(groups, kGroupsPerGrain, [&](int64_t begin, int64_t end) {
    fill(begin, end, [&](int64_t group, const RandomGroup<T>& values) {
      const int64_t first = group * kGroup<T>;
      std::copy_n(values.begin(), std::min<int64_t>(kGroup<T>, size - first), out + first);
    });
  });
}

// One block of the stream for each group.
template <typename T, typename Convert>
void FillFromBlocks(const Philox& start, T* out, int64_t size, WorkerTeam& team, const Convert& convert) {
  FillGroups<T>(out, size, team, [&](int64_t begin, int64_t end, const auto& store) {
    Philox philox = start;
    philox.Skip(static_cast<uint64_t>(begin));
    for (int64_t group = begin; group < end; ++group) store(group, convert(philox.Next()));
  });
}

void FillRandom(KernelContext& context, const RandomPlan& plan) {
  const TensorRef& out = context.output();
  const int64_t size = out.NumElements();
  const Philox start = plan.start.At();
  DispatchReal("a random op", out.dtype, [&]<typename T>(T) {
    if (plan.distribution == Distribution::kTruncatedNormal) {
      FillGroups<T>(out.as<T>(), size, context.team(), [&](int64_t begin, int64_t end, const auto& store) {
        for (int64_t group = begin; group < end; ++group) store(group, TruncatedGroup<T>(start, group));
      });
    } else if (plan.distribution == Distribution::kUniform) {
      FillFromBlocks<T>(start, out.as<T>(), size, context.team(),
                        [](const Philox::Block& block) { return UniformGroup(block, T{}); });
    } else {
      FillFromBlocks<T>(start, out.as<T>(), size, context.team(),
                        [](const Philox::Block& block) { return NormalGroup(block, T{}); });
    }
  });
}

void FillIntegers(KernelContext& context, const RandomIntegersPlan& plan) {
  const TensorRef& out = context.output();
  DispatchIndex("RandomUniformInt", out.dtype, [&]<typename T>(T) {
    FillFromBlocks<T>(
        plan.start.At(), out.as<T>(), out.NumElements(), context.team(),
        [&](const Philox::Block& block) { return IntegerGroup(block, plan.low, plan.range, T{}); });
  });
}

// Rows in random order (Fisher and Yates, from the front).
class RandomShuffleKernel : public Kernel {
 public:
  explicit RandomShuffleKernel(const Node& node) : stream_(node) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const int64_t rows = x.shape.rank() == 0 ? 1 : x.shape[0];
    if (x.NumElements() <= 1 || rows <= 1) {
      CopyTensor(context, 0, 0);
      return;
    }
    const auto swaps = static_cast<uint64_t>(rows - 1);
    PhiloxWords words(stream_.Reserve(context, (swaps + 3) / 4));
    std::vector<int64_t> order(static_cast<size_t>(rows));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    for (size_t i = 0; i + 1 < order.size(); ++i) {
      std::swap(order[i], order[i + words.Next() % static_cast<uint32_t>(order.size() - i)]);
    }
    ShapeOutput(context, 0, x.shape);
    const int64_t inner = x.NumElements() / rows;
    DispatchBySize(x.dtype, [&](auto tag) {
      using T = decltype(tag);
      T* out = context.output().as<T>();
      for (const int64_t row : order) out = std::copy_n(x.as<T>() + row * inner, inner, out);
    });
  }

 private:
  NodeStream stream_;
};

}  // namespace

void RegisterRandomKernels(KernelRegistry& registry) {
  RegisterRandomOps<FillRandom, FillIntegers>(registry);
  RegisterStatelessRandomKernels(registry);
  RegisterSamplingKernels(registry);
  registry.Register("RandomShuffle", MakeKernel<RandomShuffleKernel>);
}

}  // namespace lanescope::exec
