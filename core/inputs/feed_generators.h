// SPDX-License-Identifier: Apache-2.0
// Feeds made from a counter-based hash: a pure function of (configuration, step), the same bits in any
// program that follows docs/reference/run-configuration.md. Internal to core.
#pragma once

#include "core/inputs/run_spec.h"

namespace lanescope {

// u(seed, step, stream, i): evenly spread in [0, 1), 53 bits.
class HashStream {
 public:
  HashStream(uint64_t seed, int64_t step, uint64_t stream);
  double operator()(uint64_t i) const;

 private:
  uint64_t key_;
};

// `of`: the values of the feed that a polynomial is of, null for other generators. `spec` must have passed
// ParseRunSpec's checks.
Tensor GenerateFeed(const FeedSpec& spec, const Tensor* of, int64_t step);

}  // namespace lanescope
