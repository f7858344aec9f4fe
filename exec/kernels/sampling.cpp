// SPDX-License-Identifier: Apache-2.0
// Classes drawn from logits on host memory, number by number those of TensorFlow's CPU kernels on one thread.
#include <algorithm>
#include <cmath>
#include <limits>

#include "exec/kernels/random_plan.h"
#include "exec/kernels/random_words.h"

namespace lanescope::exec {
namespace {

// Running sums of the likelihoods; what is not finite has none.
template <typename T>
void AddUp(const T* logits, std::vector<double>* sums) {
  const auto finite = [](T value) { return std::isfinite(static_cast<double>(value)); };
  T largest = std::numeric_limits<T>::lowest();
  for (size_t i = 0; i < sums->size(); ++i) {
    if (finite(logits[i])) largest = std::max(largest, logits[i]);
  }
  double sum = 0;
  for (size_t i = 0; i < sums->size(); ++i) {
    if (finite(logits[i])) sum += std::exp(static_cast<double>(logits[i]) - static_cast<double>(largest));
    (*sums)[i] = sum;
  }
}

template <typename T, typename Class>
void Draw(KernelContext& context, const MultinomialPlan& plan) {
  const T* logits = context.input(0).as<const T>();
  Class* out = context.output().as<Class>();
  const int64_t samples = plan.samples, classes = plan.classes;
  const int64_t grain = std::max<int64_t>(1, 4096 / (classes + samples));
  context.team().ParallelFor(plan.rows, grain, [&](int64_t begin, int64_t end) {
    std::vector<double> sums(static_cast<size_t>(classes));
    const auto passed = static_cast<uint64_t>(begin) * static_cast<uint64_t>(samples) * 2;
    Philox philox = plan.start;
    philox.Skip(passed / 4);
    PhiloxWords words(philox);
    for (uint64_t i = 0; i < passed % 4; ++i) words.Next();
    for (int64_t row = begin; row < end; ++row) {
      AddUp(logits + row * classes, &sums);
      for (int64_t i = 0; i < samples; ++i) {
        const double wanted = NextUnitDouble(words) * sums.back();
        const auto found = std::upper_bound(sums.begin(), sums.end(), wanted);
        out[row * samples + i] = static_cast<Class>(found - sums.begin());
      }
    }
  });
}

void DrawClasses(KernelContext& context, const MultinomialPlan& plan) {
  DispatchNumber("Multinomial", context.input(0).dtype, [&]<typename T>(T) {
    DispatchIndex("Multinomial", context.output().dtype,
                  [&]<typename Class>(Class) { Draw<T, Class>(context, plan); });
  });
}

}  // namespace

void RegisterSamplingKernels(KernelRegistry& registry) {
  RegisterMultinomialOps<DrawClasses>(registry);
  RegisterCandidateKernels(registry);
}

}  // namespace lanescope::exec
