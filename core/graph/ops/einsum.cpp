// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/einsum.h"

#include <algorithm>
#include <cctype>

#include "core/base/error.h"
#include "core/graph/ops/common.h"

namespace lanescope::ops {
namespace {

constexpr char kEllipsis = '.';
constexpr std::string_view kDots = "...";

std::string LabelsIn(std::string_view part, std::string_view equation) {
  std::string labels;
  for (size_t i = 0; i < part.size(); ++i) {
    char c = part[i];
    if (c == ' ') continue;
    if (part.substr(i, kDots.size()) == kDots) {
      c = kEllipsis;
      i += kDots.size() - 1;
    } else if (std::isalpha(static_cast<unsigned char>(c)) == 0) {
      Throw(Code::kInvalidArgument, "'{}' is no einsum equation: '{}' is no label", equation, c);
    }
    if (c == kEllipsis && labels.find(c) != std::string::npos)
      Throw(Code::kInvalidArgument, "'{}' is no einsum equation: \"...\" twice in one place", equation);
    labels += c;
  }
  return labels;
}

bool Has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

// How many dimensions "..." stands for; nothing where that is not known.
std::optional<int> DotsOf(const std::string& labels, size_t input, const Shape& shape) {
  const auto letters = static_cast<int>(labels.size());
  const bool has_dots = Has(labels, kEllipsis);
  if (!shape.known_rank()) return has_dots ? std::nullopt : std::optional(0);
  const int dots = shape.rank() - (has_dots ? letters - 1 : letters);
  if (dots < 0 || (!has_dots && dots > 0)) {
    Throw(Code::kInvalidArgument, "Expected input {} to have rank {}{} but got: {}", input,
          has_dots ? "at least " : "", has_dots ? letters - 1 : letters, shape.ToString());
  }
  return dots;
}

// With letters for the dimensions that "..." stands for.
std::string WithoutDots(std::string labels, int dots) {
  const size_t at = labels.find(kEllipsis);
  if (at == std::string::npos) return labels;
  std::string letters;
  for (int i = dots - 1; i >= 0; --i) letters += static_cast<char>('0' + i);
  return labels.replace(at, 1, letters);
}

bool IsOfDots(char label) { return label >= '0' && label < 'A'; }

// The size that two sizes of a letter agree on; a size of 1 that "..." stands for yields to another.
Dim CommonSize(char label, Dim a, Dim b) {
  if (IsOfDots(label) && a == 1) return b;
  if (IsOfDots(label) && b == 1) return a;
  return MergeDim(a, b);
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
    const bool known =
        std::ranges::any_of(parsed.inputs, [label](const std::string& input) { return Has(input, label); });
    if (known || label == kEllipsis) continue;
    Throw(Code::kInvalidArgument, "'{}': label '{}' of the output is in no input", equation, label);
  }
  return parsed;
}

std::optional<SizedEinsum> SizeEinsum(const EinsumEquation& equation, std::span<const Shape> shapes) {
  SizedEinsum sized;
  int most = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::optional<int> dots = DotsOf(equation.inputs[i], i, shapes[i]);
    if (!dots) return std::nullopt;
    most = std::max(most, *dots);
    sized.equation.inputs.push_back(WithoutDots(equation.inputs[i], *dots));
  }
  if (most > 0 && !Has(equation.output, kEllipsis)) {
    Throw(Code::kInvalidArgument, "an einsum whose output drops the {} dimensions of \"...\"", most);
  }
  sized.equation.output = WithoutDots(equation.output, most);
  const auto size_at = [&](size_t input, size_t k) {
    return shapes[input].known_rank() ? shapes[input][static_cast<int>(k)] : kUnknownDim;
  };
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::string& labels = sized.equation.inputs[i];
    for (size_t k = 0; k < labels.size(); ++k) {
      const auto [at, is_new] = sized.sizes.try_emplace(labels[k], size_at(i, k));
      if (!is_new) at->second = CommonSize(labels[k], at->second, size_at(i, k));
    }
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    std::string left;
    for (size_t k = 0; k < sized.equation.inputs[i].size(); ++k) {
      const char label = sized.equation.inputs[i][k];
      if (!IsOfDots(label) || size_at(i, k) != 1 || sized.sizes.at(label) == 1) left += label;
    }
    sized.equation.inputs[i] = left;
  }
  return sized;
}

Shape SizedEinsum::ShapeOf(const std::string& labels) const {
  Shape shape;
  for (const char label : labels) shape.Append(sizes.at(label));
  return shape;
}

}  // namespace lanescope::ops
