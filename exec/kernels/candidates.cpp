// SPDX-License-Identifier: Apache-2.0
// Candidates for the classes that a batch is told apart from, on host memory, number by number those of
// TensorFlow's CPU kernels.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "core/base/error.h"
#include "core/graph/ops/sampling.h"
#include "exec/kernels/class_pickers.h"
#include "exec/kernels/random_plan.h"

namespace lanescope::exec {
namespace {

// With how often each class is to be expected among the candidates.
class CandidateKernel final : public Kernel {
 public:
  explicit CandidateKernel(const Node& node) : node_(node), rule_(node), stream_(node) {}

  void Compute(KernelContext& context) override {
    const TensorRef& classes = context.input(0);
    ShapeOutput(context, 1, rule_.TrueClasses(classes.shape));
    ShapeOutput(context, 0, {rule_.sampled});
    ShapeOutput(context, 2, {rule_.sampled});
    auto& picker = static_cast<ClassPicker&>(context.FindOrCreateResource(
        -1, [&]() -> std::unique_ptr<Resource> { return MakeClassPicker(node_, rule_.range); }));
    const std::lock_guard<std::mutex> lock(picker.mutex());
    PhiloxWords words(stream_.Reserve(context, static_cast<uint64_t>(rule_.sampled) * kWordsReserved / 4));
    int64_t* drawn = context.output(0).as<int64_t>();
    const int64_t tries = Draw(picker, words, drawn, context.team());
    const auto* known = classes.as<const int64_t>();
    Expect(picker, drawn, rule_.sampled, tries, context.output(2).as<float>());
    Expect(picker, known, classes.NumElements(), tries, context.output(1).as<float>());
    picker.Learn({known, static_cast<size_t>(classes.NumElements())});
  }
  bool replayable() const override { return false; }

 private:
  // Words of the stream that a launch reserves for each candidate, whatever it uses.
  static constexpr uint64_t kWordsReserved = 2048;
  // A second or so. TensorFlow goes on to 2^31 of them, and then ends the program.
  static constexpr int64_t kMaxTries = int64_t{1} << 26;

  // How often a class had to be drawn.
  int64_t Draw(ClassPicker& picker, PhiloxWords& words, int64_t* drawn, WorkerTeam& team) const {
    if (!rule_.unique) {
      std::generate_n(drawn, rule_.sampled, [&] { return picker.Next(words); });
      return rule_.sampled;
    }
    if (const int64_t possible = picker.possible(); rule_.sampled > possible) {
      Throw(Code::kInvalidArgument, "node '{}': {} different classes cannot be drawn of {}", node_.name,
            rule_.sampled, possible);
    }
    std::unordered_set<int64_t> seen;
    int64_t tries = 0;
    for (int64_t i = 0; i < rule_.sampled; ++tries) {
      if (tries == kMaxTries) {
        Throw(Code::kResourceExhausted, "node '{}': {} draws gave {} different classes of {} wanted",
              node_.name, tries, i, rule_.sampled);
      }
      if (tries % 4096 == 0) team.CheckNotStopped();
      const int64_t next = picker.Next(words);
      if (seen.insert(next).second) drawn[i++] = next;
    }
    return tries;
  }

  void Expect(const ClassPicker& picker, const int64_t* classes, int64_t count, int64_t tries,
              float* expected) const {
    for (int64_t i = 0; i < count; ++i) {
      const float likelihood = picker.LikelihoodOf(classes[i]);
      expected[i] = tries == rule_.sampled ? likelihood * static_cast<float>(rule_.sampled)
                                           : -std::expm1(static_cast<float>(tries) * std::log1p(-likelihood));
    }
  }

  Node node_;
  ops::CandidateRule rule_;
  NodeStream stream_;
};

// All classes, each as often as it is to be expected: once.
class AllCandidatesKernel final : public Kernel {
 public:
  explicit AllCandidatesKernel(const Node& node) : rule_(node) {}

  void Compute(KernelContext& context) override {
    const Shape true_classes = rule_.TrueClasses(context.input(0).shape);
    ShapeOutput(context, 1, true_classes);
    ShapeOutput(context, 0, {rule_.sampled});
    ShapeOutput(context, 2, {rule_.sampled});
    int64_t* drawn = context.output(0).as<int64_t>();
    std::iota(drawn, drawn + rule_.sampled, int64_t{0});
    std::fill_n(context.output(1).as<float>(), true_classes.NumElements(), 1.0f);
    std::fill_n(context.output(2).as<float>(), rule_.sampled, 1.0f);
  }

 private:
  ops::CandidateRule rule_;
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

void RegisterCandidateKernels(KernelRegistry& registry) {
  for (const char* op :
       {"UniformCandidateSampler", "LogUniformCandidateSampler", "FixedUnigramCandidateSampler",
        "LearnedUnigramCandidateSampler", "ThreadUnsafeUnigramCandidateSampler"}) {
    registry.Register(op, MakeKernel<CandidateKernel>);
  }
  registry.Register("AllCandidateSampler", MakeKernel<AllCandidatesKernel>);
  registry.Register("ComputeAccidentalHits", MakeKernel<AccidentalHitsKernel>);
}

}  // namespace lanescope::exec
