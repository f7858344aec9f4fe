// Classes drawn at random on host memory, number by number those of TensorFlow's CPU kernels on one thread.
#include "core/graph/ops/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "exec/kernels/random_plan.h"
#include "exec/kernels/stateless_random.h"

namespace lanescope::exec {
namespace {

double NextUnitDouble(PhiloxWords& words) {
  const uint32_t high = words.Next();
  return UnitDouble(high, words.Next());
}

uint64_t NextNumber(PhiloxWords& words) {
  const uint64_t low = words.Next();
  return uint64_t{words.Next()} << 32 | low;
}

// Each of [0, n) as likely as the others; n > 0.
uint64_t NextBelow(PhiloxWords& words, uint64_t n) {
  if ((n & (n - 1)) == 0) return NextNumber(words) & (n - 1);
  const uint64_t rest = std::numeric_limits<uint64_t>::max() % n + 1;
  while (true) {
    const uint64_t number = NextNumber(words);
    if (number >= rest) return number % n;
  }
}

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

// Candidates for the classes that a batch is told apart from, with how often each class is to be expected
// among them.
class CandidateKernel final : public Kernel {
 public:
  explicit CandidateKernel(const Node& node)
      : rule_(node),
        stream_(node),
        log_range_(node.op.starts_with("Log") ? std::log1p(static_cast<double>(rule_.range)) : 0) {}

  void Compute(KernelContext& context) override {
    const TensorRef& classes = context.input(0);
    ShapeOutput(context, 1, rule_.TrueClasses(classes.shape));
    ShapeOutput(context, 0, {rule_.sampled});
    ShapeOutput(context, 2, {rule_.sampled});
    PhiloxWords words(stream_.Reserve(context, static_cast<uint64_t>(rule_.sampled) * kWordsReserved / 4));
    int64_t* drawn = context.output(0).as<int64_t>();
    const int64_t tries = Draw(words, drawn, context.team());
    Expect(drawn, rule_.sampled, tries, context.output(2).as<float>());
    Expect(classes.as<const int64_t>(), classes.NumElements(), tries, context.output(1).as<float>());
  }
  bool replayable() const override { return false; }

 private:
  // Words of the stream that a launch reserves for each candidate, whatever it uses.
  static constexpr uint64_t kWordsReserved = 2048;

  // How often a class had to be drawn.
  int64_t Draw(PhiloxWords& words, int64_t* drawn, WorkerTeam& team) const {
    if (!rule_.unique) {
      std::generate_n(drawn, rule_.sampled, [&] { return Next(words); });
      return rule_.sampled;
    }
    std::unordered_set<int64_t> seen;
    int64_t tries = 0;
    for (int64_t i = 0; i < rule_.sampled; ++tries) {
      if (tries % 4096 == 0) team.CheckNotStopped();
      const int64_t next = Next(words);
      if (seen.insert(next).second) drawn[i++] = next;
    }
    return tries;
  }

  int64_t Next(PhiloxWords& words) const {
    const auto range = static_cast<uint64_t>(rule_.range);
    if (log_range_ == 0) return static_cast<int64_t>(NextBelow(words, range));
    return (static_cast<int64_t>(std::exp(NextUnitDouble(words) * log_range_)) - 1) % rule_.range;
  }

  float LikelihoodOf(int64_t number) const {
    if (log_range_ == 0) return 1.0f / static_cast<float>(rule_.range);
    const auto at = static_cast<double>(number);
    return static_cast<float>(std::log((at + 2) / (at + 1)) / log_range_);
  }

  void Expect(const int64_t* classes, int64_t count, int64_t tries, float* expected) const {
    for (int64_t i = 0; i < count; ++i) {
      const float likelihood = LikelihoodOf(classes[i]);
      expected[i] = tries == rule_.sampled ? likelihood * static_cast<float>(rule_.sampled)
                                           : -std::expm1(static_cast<float>(tries) * std::log1p(-likelihood));
    }
  }

  ops::CandidateRule rule_;
  NodeStream stream_;
  double log_range_;  // 0: all classes are as likely
};

// Candidates that are among the true classes of a row: which row, the candidate's number, and a weight that
// takes it out of the running.
class AccidentalHitsKernel final : public Kernel {
 public:
  explicit AccidentalHitsKernel(const Node& node) : node_(node) {}

  void Compute(KernelContext& context) override {
    const TensorRef& classes = context.input(0);
    const TensorRef& candidates = context.input(1);
    ops::CheckCandidates(node_, classes.shape, candidates.shape);
    std::unordered_map<int64_t, int64_t> number_of;
    for (int64_t i = 0; i < candidates.NumElements(); ++i) number_of[candidates.as<const int64_t>()[i]] = i;
    rows_.clear();
    numbers_.clear();
    for (int64_t i = 0; i < classes.NumElements(); ++i) {
      const auto found = number_of.find(classes.as<const int64_t>()[i]);
      if (found == number_of.end()) continue;
      rows_.push_back(static_cast<int32_t>(i / classes.shape[1]));
      numbers_.push_back(found->second);
    }
    const auto hits = static_cast<int64_t>(rows_.size());
    for (int i = 0; i < 3; ++i) ShapeOutput(context, i, {hits});
    std::ranges::copy(rows_, context.output(0).as<int32_t>());
    std::ranges::copy(numbers_, context.output(1).as<int64_t>());
    std::fill_n(context.output(2).as<float>(), hits, std::numeric_limits<float>::lowest());
  }

 private:
  Node node_;
  std::vector<int32_t> rows_;
  std::vector<int64_t> numbers_;
};

}  // namespace

void RegisterSamplingKernels(KernelRegistry& registry) {
  for (const char* op : {"Multinomial", "StatelessMultinomial"}) {
    registry.Register(op, MakeKernel<MultinomialKernel>);
  }
  for (const char* op : {"UniformCandidateSampler", "LogUniformCandidateSampler"}) {
    registry.Register(op, MakeKernel<CandidateKernel>);
  }
  registry.Register("ComputeAccidentalHits", MakeKernel<AccidentalHitsKernel>);
}

}  // namespace lanescope::exec
