// How candidate samplers choose classes: one class a distribution.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/graph/graph.h"
#include "exec/philox.h"

namespace lanescope::exec {

// Not thread-safe.
class ClassPicker {
 public:
  virtual ~ClassPicker() = default;
  virtual int64_t Next(PhiloxWords& words) = 0;
  virtual float LikelihoodOf(int64_t number) const = 0;
  // That these classes have come up.
  virtual void Learn(std::span<const int64_t>) {}
};

// By the op: UniformCandidateSampler, LogUniform..., FixedUnigram..., LearnedUnigram...,
// ThreadUnsafeUnigram...; classes are [0, range). Throws InvalidArgument for attributes that make no
// distribution, and what ReadFile throws for a vocabulary.
std::unique_ptr<ClassPicker> MakeClassPicker(const Node& node, int64_t range);

}  // namespace lanescope::exec
