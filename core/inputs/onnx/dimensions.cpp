// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/onnx/dimensions.h"

#include <algorithm>
#include <cctype>

namespace lanescope {
namespace {

constexpr size_t kLongestText = 256;
constexpr int64_t kMostSize = int64_t{1} << 40;

bool IsNamePart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == ':';
}

// Sums of products of names, numbers and sums in parentheses, by recursive descent.
class DimensionParser {
 public:
  DimensionParser(std::string_view text, const std::map<std::string, int64_t>& names)
      : text_(text), names_(names) {}

  std::optional<int64_t> Parse() {
    const std::optional<int64_t> value = Sum(0);
    well_formed_ = well_formed_ && text_.empty();
    return well_formed_ ? value : std::nullopt;
  }
  // After Parse(): whether the text is a sum, and its names.
  bool well_formed() const { return well_formed_; }
  const std::vector<std::string>& seen() const { return seen_; }

 private:
  using Value = std::optional<int64_t>;

  static Value Bounded(__int128 value) {
    if (value < -kMostSize || value > kMostSize) return std::nullopt;
    return static_cast<int64_t>(value);
  }
  static Value Combine(char op, Value a, Value b) {
    if (!a || !b) return std::nullopt;
    if (op == '+') return Bounded(static_cast<__int128>(*a) + *b);
    if (op == '-') return Bounded(static_cast<__int128>(*a) - *b);
    if (op == '*') return Bounded(static_cast<__int128>(*a) * *b);
    if (*b == 0) return std::nullopt;
    return *a / *b - (*a % *b != 0 && (*a < 0) != (*b < 0) ? 1 : 0);  // rounded down
  }

  char Next() {
    while (!text_.empty() && text_[0] == ' ') text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_[0];
  }

  Value Sum(int depth) {
    Value value = Product(depth);
    while (Next() == '+' || Next() == '-') {
      const char op = Take();
      value = Combine(op, value, Product(depth));
    }
    return value;
  }

  Value Product(int depth) {
    Value value = Factor(depth);
    while (Next() == '*' || Next() == '/') {
      const char op = Take();
      if (op == '/' && Next() == '/') Take();
      value = Combine(op, value, Factor(depth));
    }
    return value;
  }

  Value Factor(int depth) {
    constexpr int kDeepest = 32;
    const char next = Next();
    if (next == '(' && depth < kDeepest) {
      Take();
      const Value value = Sum(depth + 1);
      if (Next() == ')') {
        Take();
        return value;
      }
    } else if (IsNamePart(next)) {
      const auto end = std::ranges::find_if_not(text_, IsNamePart);
      const std::string word(text_.begin(), end);
      text_.remove_prefix(word.size());
      return ValueOf(word);
    }
    well_formed_ = false;
    text_ = {};
    return std::nullopt;
  }

  Value ValueOf(const std::string& word) {
    if (std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; }))
      return word.size() > 12 ? std::nullopt : Bounded(std::stoll(word));
    if (std::ranges::find(seen_, word) == seen_.end()) seen_.push_back(word);
    const auto found = names_.find(word);
    return found == names_.end() ? std::nullopt : Value(found->second);
  }

  char Take() {
    const char taken = text_[0];
    text_.remove_prefix(1);
    return taken;
  }

  std::string_view text_;
  const std::map<std::string, int64_t>& names_;
  std::vector<std::string> seen_;
  bool well_formed_ = true;
};

// The text of a size that the model leaves open; empty: it says nothing, or a number.
std::string_view OpenText(const onnx::Dimension& dim) {
  if (dim.value_case() != onnx::Dimension::kDimParam || dim.dim_param().size() > kLongestText) return {};
  return dim.dim_param();
}

}  // namespace

std::optional<int64_t> DimensionValue(std::string_view text, const std::map<std::string, int64_t>& names) {
  DimensionParser parser(text, names);
  const std::optional<int64_t> value = parser.Parse();
  if (parser.well_formed()) return value;
  const auto found = names.find(std::string(text));
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> DimensionNames(std::string_view text) {
  const std::map<std::string, int64_t> none;
  DimensionParser parser(text, none);
  parser.Parse();
  return parser.well_formed() ? parser.seen() : std::vector<std::string>{std::string(text)};
}

void OnnxDimensions::Learn(const onnx::TensorType& type, const Shape& shape) {
  if (!shape.known_rank() || shape.rank() != type.shape().dim_size()) return;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::string_view text = OpenText(type.shape().dim(axis));
    if (!text.empty() && IsExact(shape.dim(axis))) open_.push_back({std::string(text), shape.dim(axis)});
  }
  Solve();
}

void OnnxDimensions::Assume(const onnx::TensorType& type) {
  for (const bool sums : {false, true}) {
    for (const onnx::Dimension& dim : type.shape().dim()) {
      const std::string_view text = OpenText(dim);
      if (text.empty() || DimensionValue(text, names_).has_value()) continue;
      const std::vector<std::string> names = DimensionNames(text);
      if (!sums && (names.size() != 1 || names[0] != text)) continue;
      for (const std::string& name : names) {
        if (!names_.emplace(name, 1).second) continue;
        Solve();
      }
    }
  }
}

// By a line through two points, which is exact for sums and products with numbers; others stay open.
void OnnxDimensions::Solve() {
  const auto solve = [&](const Equation& equation) {
    std::vector<std::string> unknown = DimensionNames(equation.text);
    std::erase_if(unknown, [&](const std::string& name) { return names_.contains(name); });
    if (unknown.empty()) return true;
    if (unknown.size() > 1) return false;
    int64_t& value = names_[unknown[0]];
    const auto with = [&](int64_t tried) {
      value = tried;
      return DimensionValue(equation.text, names_);
    };
    const std::optional<int64_t> at_0 = with(0), at_1 = with(1);
    const bool line = at_0 && at_1 && *at_0 != *at_1;
    const int64_t found = line ? (equation.size - *at_0) / (*at_1 - *at_0) : -1;
    if (found < 0 || with(found) != equation.size) names_.erase(unknown[0]);
    return true;
  };
  for (size_t left = open_.size() + 1; left > open_.size();) {
    left = open_.size();
    std::erase_if(open_, solve);
  }
}

Shape OnnxDimensions::ShapeOf(const onnx::TensorType& type) const {
  if (!type.has_shape() || type.shape().dim_size() > Shape::kMaxRank) return Shape::Unknown();
  Shape shape;
  for (const onnx::Dimension& dim : type.shape().dim()) {
    int64_t size = kUnknownDim;
    if (dim.value_case() == onnx::Dimension::kDimValue && dim.dim_value() >= 0) {
      size = dim.dim_value();
    } else if (const std::string_view text = OpenText(dim); !text.empty()) {
      size = DimensionValue(text, names_).value_or(-1);
      if (size < 0) size = kUnknownDim;
    }
    shape.Append(size);
  }
  return shape;
}

}  // namespace lanescope
