// Equations of Einsum: "abc,cde->abde".
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/shape.h"

namespace lanescope::ops {

struct EinsumEquation {
  std::vector<std::string> inputs;  // a letter for each dimension
  std::string output;
};

// Throws InvalidArgument for what is no equation or has another number of inputs, and Unimplemented for
// letters twice in one place (diagonals) and for "...".
EinsumEquation ParseEinsum(std::string_view equation, int num_inputs);

// The sizes of the letters. Throws InvalidArgument for shapes of other ranks, or sizes that contradict.
std::map<char, Dim> EinsumSizes(const EinsumEquation& equation, std::span<const Shape> shapes);

// Of the letters of `labels`.
Shape EinsumShape(const std::string& labels, const std::map<char, Dim>& sizes);

}  // namespace lanescope::ops
