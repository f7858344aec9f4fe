// SPDX-License-Identifier: Apache-2.0
// Random ops, for every kind of device: where their streams of numbers begin and go on.
#pragma once

#include "exec/kernels/op_kernel.h"
#include "exec/kernels/random_groups.h"

namespace lanescope::exec {

// The node's stream: it begins at its seeds, or where it has none at the session's seed and its name, and
// goes on from launch to launch. (TensorFlow takes a new seed for each session; here a run can be repeated.)
class NodeStream {
 public:
  explicit NodeStream(const Node& node);
  // A generator at the current place, which moves on by `blocks`.
  Philox Reserve(KernelContext& context, uint64_t blocks) const;

 private:
  uint64_t seed_;
  uint64_t seed2_;
  bool has_seeds_;
};

// RandomUniform, RandomStandardNormal, TruncatedNormal.
struct RandomPlan {
  Distribution distribution;
  StreamStart start;
};
class RandomOp {
 public:
  static constexpr bool kReplayable = false;  // the node's counter moves on
  explicit RandomOp(const Node& node);
  RandomPlan Plan(KernelContext& context) const;

 private:
  NodeStream stream_;
  Distribution distribution_;
};

// Integers in [low, low + size).
struct IntegerRange {
  int64_t low;
  uint64_t size;
};
// From minval and maxval, inputs `first` and the next one. Nothing to draw from is an error where the output,
// which has its shape, has elements.
IntegerRange RangeOf(KernelContext& context, int first);

// Integers in [low, low + range); there are none where range is 0.
struct RandomIntegersPlan {
  StreamStart start;
  int64_t low;
  uint64_t range;
};
class RandomIntegersOp {
 public:
  static constexpr bool kReplayable = false;
  explicit RandomIntegersOp(const Node& node) : stream_(node) {}
  RandomIntegersPlan Plan(KernelContext& context) const;

 private:
  NodeStream stream_;
};

// Random tensors that follow from a seed alone, or from a key, a counter and an algorithm.
class StatelessOp {
 public:
  explicit StatelessOp(const Node& node);
  RandomPlan Plan(KernelContext& context) const;

 private:
  Distribution distribution_;
  bool has_key_;
};
class StatelessIntegersOp {
 public:
  explicit StatelessIntegersOp(const Node& node) : has_key_(node.op.ends_with("V2")) {}
  RandomIntegersPlan Plan(KernelContext& context) const;

 private:
  bool has_key_;
};

// `samples` classes for each row of logits [rows, classes]; row after row takes two words a sample.
struct MultinomialPlan {
  Philox start;
  int64_t rows = 0, samples = 0, classes = 0;
};
// Multinomial and StatelessMultinomial: inputs logits, num_samples [, seed].
template <bool kStateless>
class MultinomialOp {
 public:
  static constexpr bool kReplayable = kStateless;
  explicit MultinomialOp(const Node& node) : stream_(node) {}
  MultinomialPlan Plan(KernelContext& context) const;

 private:
  NodeStream stream_;
};

template <void (*draw)(KernelContext&, const MultinomialPlan&)>
void RegisterMultinomialOps(KernelRegistry& registry) {
  RegisterOp<MultinomialOp<false>, draw>(registry, "Multinomial");
  RegisterOp<MultinomialOp<true>, draw>(registry, "StatelessMultinomial");
}

void RegisterSamplingKernels(KernelRegistry& registry);
// Candidate samplers: on host memory alone.
void RegisterCandidateKernels(KernelRegistry& registry);

template <void (*reals)(KernelContext&, const RandomPlan&),
          void (*integers)(KernelContext&, const RandomIntegersPlan&)>
void RegisterRandomOps(KernelRegistry& registry) {
  for (const char* op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    RegisterOp<RandomOp, reals>(registry, op);
  }
  RegisterOp<RandomIntegersOp, integers>(registry, "RandomUniformInt");
  for (const char* op :
       {"StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal",
        "StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"}) {
    RegisterOp<StatelessOp, reals>(registry, op);
  }
  for (const char* op : {"StatelessRandomUniformInt", "StatelessRandomUniformIntV2"}) {
    RegisterOp<StatelessIntegersOp, integers>(registry, op);
  }
}

}  // namespace lanescope::exec
