// Classes drawn from logits on host memory, number by number those of TensorFlow's CPU kernels on one thread.
#include "core/graph/ops/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exec/kernels/random_plan.h"
#include "exec/kernels/random_words.h"
#include "exec/kernels/stateless_random.h"

namespace lanescope::exec {
namespace {

// Multinomial and StatelessMultinomial.
class MultinomialKernel final : public Kernel {
 public:
  explicit MultinomialKernel(const Node& node)
      : stateless_(node.op.starts_with("Stateless")), stream_(node) {}

  void Compute(KernelContext& context) override {
    const TensorRef& logits = context.input(0);
    const Shape shape = ops::DrawnShape(logits.shape, NumbersOf(context.input(1)));
    const Philox start = stateless_ ? StreamOfSeed(context.input(2)) : Reserve(context, shape);
    ShapeOutput(context, 0, shape);
    DispatchNumber("Multinomial", logits.dtype, [&]<typename T>(T) {
      DispatchIndex("Multinomial", context.output().dtype,
                    [&]<typename Class>(Class) { Draw<T, Class>(context, start); });
    });
  }
  bool replayable() const override { return stateless_; }

 private:
  Philox Reserve(KernelContext& context, const Shape& shape) const {
    const uint64_t in_fours = (static_cast<uint64_t>(shape[1]) + 3) / 4 * 4;
    return stream_.Reserve(context, static_cast<uint64_t>(shape[0]) * in_fours * 2 * kReservedBlocks);
  }

  // Row after row takes two words a sample.
  template <typename T, typename Class>
  static void Draw(KernelContext& context, const Philox& start) {
    const TensorRef& logits = context.input(0);
    const TensorRef& out = context.output();
    const int64_t rows = out.shape[0], samples = out.shape[1], classes = logits.shape[1];
    const int64_t grain = std::max<int64_t>(1, 4096 / (classes + samples));
    context.team().ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      std::vector<double> sums(static_cast<size_t>(classes));
      const auto passed = static_cast<uint64_t>(begin) * static_cast<uint64_t>(samples) * 2;
      Philox philox = start;
      philox.Skip(passed / 4);
      PhiloxWords words(philox);
      for (uint64_t i = 0; i < passed % 4; ++i) words.Next();
      for (int64_t row = begin; row < end; ++row) {
        AddUp(logits.as<const T>() + row * classes, &sums);
        for (int64_t i = 0; i < samples; ++i) {
          const double wanted = NextUnitDouble(words) * sums.back();
          const auto found = std::upper_bound(sums.begin(), sums.end(), wanted);
          out.as<Class>()[row * samples + i] = static_cast<Class>(found - sums.begin());
        }
      }
    });
  }

  // Running sums of the likelihoods; what is not finite has none.
  template <typename T>
  static void AddUp(const T* logits, std::vector<double>* sums) {
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

  bool stateless_;
  NodeStream stream_;
};

}  // namespace

void RegisterSamplingKernels(KernelRegistry& registry) {
  for (const char* op : {"Multinomial", "StatelessMultinomial"}) {
    registry.Register(op, MakeKernel<MultinomialKernel>);
  }
  RegisterCandidateKernels(registry);
}

}  // namespace lanescope::exec
