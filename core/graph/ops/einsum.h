// SPDX-License-Identifier: Apache-2.0
// Equations of Einsum: "abc,cde->abde", "...ab,bc->...ac".
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/shape.h"

namespace lanescope::ops {

struct EinsumEquation {
  // A letter for each dimension; '.' for those that "..." stands for. A letter that is in one place more than
  // once is a diagonal there.
  std::vector<std::string> inputs;
  std::string output;
};

// Throws InvalidArgument for what is no equation or has another number of inputs.
EinsumEquation ParseEinsum(std::string_view equation, int num_inputs);

// An equation of tensors of these shapes, and the sizes of its letters. Dimensions that "..." stands for have
// digits for letters, of which the last one's is '0'; an input that has 1 where others have more has none
// there.
struct SizedEinsum {
  EinsumEquation equation;
  std::map<char, Dim> sizes;

  // The sizes of the letters of `labels`.
  Shape ShapeOf(const std::string& labels) const;
};
// Nothing where "..." stands for dimensions of an unknown number. Throws InvalidArgument for shapes of other
// ranks, for sizes that contradict, and for "..." of the inputs that the output drops.
std::optional<SizedEinsum> SizeEinsum(const EinsumEquation& equation, std::span<const Shape> shapes);

}  // namespace lanescope::ops
