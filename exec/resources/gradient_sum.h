// SPDX-License-Identifier: Apache-2.0
// The sum of an accumulator's gradients: a tensor, or rows of one by their numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/shape.h"
#include "core/graph/tensor.h"

namespace lanescope::exec {

enum class GradientReduction { kMean, kSum };

// The declaration of an accumulator.
struct AccumulatorSpec {
  DataType dtype = DataType::kFloat;  // float, double or half
  Shape shape = Shape::Unknown();
  GradientReduction reduction = GradientReduction::kMean;
  bool rows = false;  // of the tensor, as IndexedSlices
  friend bool operator==(const AccumulatorSpec&, const AccumulatorSpec&) = default;
};

// A tensor; of rows their numbers (int64), the rows, and the shape of the whole (int64; empty: not known).
using GradientParts = std::vector<Tensor>;

// Not thread-safe.
class GradientSum {
 public:
  virtual ~GradientSum() = default;
  // Throws InvalidArgument for another type or shape than declared, or than that of the gradients that are
  // there; nothing is added then.
  virtual void Add(const GradientParts& gradient) = 0;
  // The mean or sum of what was added (at least once), of rows in the order of their numbers: of each row
  // that of the gradients that have it. The sum is empty afterwards.
  virtual GradientParts Take() = 0;
};

// Throws Unimplemented for a type that cannot be added up here. `name`: of the accumulator, for messages.
std::unique_ptr<GradientSum> MakeGradientSum(const std::string& name, const AccumulatorSpec& spec);

}  // namespace lanescope::exec
