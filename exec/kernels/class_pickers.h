// SPDX-License-Identifier: Apache-2.0
// How candidate samplers choose classes: one class a distribution.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "core/graph/graph.h"
#include "exec/device/kernel.h"
#include "exec/functors/philox.h"

namespace lanescope::exec {

// The session keeps one for each node, whichever of its steps the node is in. Its user locks it.
class ClassPicker : public Resource {
 public:
  std::mutex& mutex() { return mutex_; }
  virtual int64_t Next(PhiloxWords& words) = 0;
  virtual float LikelihoodOf(int64_t number) const = 0;
  // How many classes can come up at all.
  virtual int64_t possible() const = 0;
  // That these classes have come up.
  virtual void Learn(std::span<const int64_t>) {}

 private:
  std::mutex mutex_;
};

// By the op: UniformCandidateSampler, LogUniform..., FixedUnigram..., LearnedUnigram...,
// ThreadUnsafeUnigram...; classes are [0, range). Throws InvalidArgument for attributes that make no
// distribution, and what ReadFile throws for a vocabulary.
std::unique_ptr<ClassPicker> MakeClassPicker(const Node& node, int64_t range);

}  // namespace lanescope::exec
