// SPDX-License-Identifier: Apache-2.0
// Sizes that a model leaves open: names ("batch") and what it computes of names ("past + sequence"). Internal
// to core.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/shape.h"
#include "lanescope_onnx.pb.h"

namespace lanescope {

// The value of "2 * (past + sequence)" with these names; + - * / and parentheses, whole numbers. Empty for a
// name that is not known, for what is no such text, and for what does not fit into a size.
std::optional<int64_t> DimensionValue(std::string_view text, const std::map<std::string, int64_t>& names);
// The names in it, each once; a text that is no sum is one name.
std::vector<std::string> DimensionNames(std::string_view text);

// Not thread-safe. First what is known is learnt, of all inputs; then the rest is assumed.
class OnnxDimensions {
 public:
  // An input of this type has this shape. The first that says what a name is counts.
  void Learn(const onnx::TensorType& type, const Shape& shape);
  // Names of an input that follow from nothing are 1; sums follow from names.
  void Assume(const onnx::TensorType& type);
  // The sizes of a type; those of which nothing is known are unknown.
  Shape ShapeOf(const onnx::TensorType& type) const;

 private:
  struct Equation {
    std::string text;
    int64_t size;
  };
  // Equations with one unknown name say what it is.
  void Solve();

  std::map<std::string, int64_t> names_;
  std::vector<Equation> open_;
};

}  // namespace lanescope
