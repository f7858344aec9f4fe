// SPDX-License-Identifier: Apache-2.0
// Shapes of classes drawn at random, for inference and kernels. Shapes may be open. All throw
// InvalidArgument, in TensorFlow's words, for what does not fit.
#pragma once

#include "core/graph/ops/fold.h"

namespace lanescope::ops {

// [batch, samples] classes of logits [batch, classes].
Shape DrawnShape(const Shape& logits, const Numbers& samples);

// The attributes of a candidate sampler: `sampled` candidates below `range`, each once if `unique`.
struct CandidateRule {
  explicit CandidateRule(const Node& node);
  // The classes that are known to be true: [batch, num_true].
  Shape TrueClasses(const Shape& given) const;

  int64_t num_true, sampled, range;
  bool unique;
};

// ComputeAccidentalHits takes true classes [batch, num_true] and the candidates, a vector.
void CheckCandidates(const Node& node, const Shape& true_classes, const Shape& candidates);

}  // namespace lanescope::ops
