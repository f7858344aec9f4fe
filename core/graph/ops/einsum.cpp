#include "core/graph/ops/einsum.h"

#include <algorithm>
#include <cctype>

#include "core/base/error.h"
#include "core/graph/ops/common.h"

namespace lanescope::ops {
namespace {

std::string LabelsIn(std::string_view part, std::string_view equation) {
  std::string labels;
  for (const char c : part) {
    if (c == ' ') continue;
    if (c == '.') {
      Throw(Code::kUnimplemented, "'{}': \"...\" in an einsum has no kernel here; write the dimensions out",
            equation);
    }
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) {
      Throw(Code::kInvalidArgument, "'{}' is no einsum equation: '{}' is no label", equation, c);
    }
    if (labels.find(c) != std::string::npos) {
      Throw(Code::kUnimplemented, "'{}': label '{}' twice in one place (a diagonal) has no kernel here",
            equation, c);
    }
    labels += c;
  }
  return labels;
}

}  // namespace

EinsumEquation ParseEinsum(std::string_view equation, int num_inputs) {
  const size_t arrow = equation.find("->");
  if (arrow == std::string_view::npos) {
    Throw(Code::kInvalidArgument, "'{}' is no einsum equation: it has no \"->\"", equation);
  }
  EinsumEquation parsed;
  const std::string_view left = equation.substr(0, arrow);
  for (size_t at = 0; at <= left.size();) {
    const size_t end = std::min(left.find(',', at), left.size());
    parsed.inputs.push_back(LabelsIn(left.substr(at, end - at), equation));
    at = end + 1;
  }
  parsed.output = LabelsIn(equation.substr(arrow + 2), equation);
  if (static_cast<int>(parsed.inputs.size()) != num_inputs) {
    Throw(Code::kInvalidArgument, "Expected {} inputs but got: {} (equation '{}')", parsed.inputs.size(),
          num_inputs, equation);
  }
  for (const char label : parsed.output) {
    const bool known = std::ranges::any_of(
        parsed.inputs, [label](const std::string& input) { return input.find(label) != std::string::npos; });
    if (known) continue;
    Throw(Code::kInvalidArgument, "'{}': label '{}' of the output is in no input", equation, label);
  }
  return parsed;
}

std::map<char, Dim> EinsumSizes(const EinsumEquation& equation, std::span<const Shape> shapes) {
  std::map<char, Dim> sizes;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::string& labels = equation.inputs[i];
    if (shapes[i].known_rank() && shapes[i].rank() != static_cast<int>(labels.size())) {
      Throw(Code::kInvalidArgument, "Expected input {} to have rank {} but got: {}", i, labels.size(),
            shapes[i].ToString());
    }
    for (size_t k = 0; k < labels.size(); ++k) {
      const Dim dim = shapes[i].known_rank() ? shapes[i][static_cast<int>(k)] : kUnknownDim;
      const auto [at, is_new] = sizes.try_emplace(labels[k], dim);
      if (!is_new) at->second = MergeDim(at->second, dim);
    }
  }
  return sizes;
}

Shape EinsumShape(const std::string& labels, const std::map<char, Dim>& sizes) {
  Shape shape;
  for (const char label : labels) shape.Append(sizes.at(label));
  return shape;
}

}  // namespace lanescope::ops
