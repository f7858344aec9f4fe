// SPDX-License-Identifier: Apache-2.0
// The gradient of Einsum. Of a sum of products of different letters each operand's is a sum of products, too;
// over letters that one operand alone has, the gradient is repeated; dimensions of "..." that were broadcast
// are summed over. That of a diagonal is zero elsewhere.
#include "core/graph/ops/einsum.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "graphs/constants.h"
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

constexpr std::string_view kDots = "...";

bool HasDots(std::string_view labels) { return labels.find(kDots) != std::string_view::npos; }

// Where a letter is; counted from behind where it comes after "...".
int64_t AxisOf(const std::string& labels, char label) {
  const size_t dots = labels.find(kDots), at = labels.find(label);
  return dots == std::string::npos || at < dots
             ? static_cast<int64_t>(at)
             : static_cast<int64_t>(at) - static_cast<int64_t>(labels.size());
}

bool HasRepeats(const std::string& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels.find(labels[i]) != i) return true;
  }
  return false;
}

std::string Without(std::string labels, const std::string& letters) {
  std::erase_if(labels, [&](char label) { return letters.find(label) != std::string::npos; });
  return labels;
}

// An operand of the equation.
struct Operand {
  Endpoint tensor;
  std::string labels;
};

class EinsumGradientOf {
 public:
  explicit EinsumGradientOf(const OpGradient& g) : g_(g), s_(g.s) {
    std::string equation = g.node().StringAttr("equation");
    std::erase(equation, ' ');
    const size_t arrow = equation.find("->"), comma = equation.find(',');
    output_ = equation.substr(arrow + 2);
    if (g.num_inputs() == 1) {
      operands_ = {{g.in(0), equation.substr(0, arrow)}};
    } else {
      operands_ = {{g.in(0), equation.substr(0, comma)},
                   {g.in(1), equation.substr(comma + 1, arrow - comma - 1)}};
    }
  }

  std::vector<Gradient> OfOne() {
    const Operand& x = operands_[0];
    const std::string repeated = Alone(x, "");
    if (repeated.empty()) return {op::Einsum(s_, {g_.grad()}, output_ + "->" + x.labels)};
    const Endpoint shape = ShapeTensor(s_, x.tensor);
    return {Repeat(g_.grad(), output_, x.labels, shape, repeated)};
  }

  std::vector<Gradient> OfTwo() {
    for (Operand& operand : operands_) {
      if (HasDots(output_) && !HasDots(operand.labels)) operand.labels += kDots;
    }
    const Endpoint shapes[2] = {ShapeOf(operands_[0]), ShapeOf(operands_[1])};
    std::vector<Gradient> gradients;
    for (const size_t i : {0, 1}) gradients.emplace_back(By(operands_[i], operands_[1 - i], shapes[i]));
    if (!HasDots(output_) || BroadcastAlike()) return gradients;
    const Endpoint x_dots = DotsIn(operands_[0], shapes[0]);
    const auto axes = op::BroadcastGradientArgs(s_, x_dots, DotsIn(operands_[1], shapes[1]));
    for (const size_t i : {0, 1}) {
      const auto first = static_cast<int>(operands_[i].labels.find(kDots));
      const Endpoint over = Add(s_, first, i == 0 ? axes.r0 : axes.r1);
      gradients[i] = op::Reshape(s_, SumOver(s_, gradients[i].dense(), over), shapes[i]);
    }
    return gradients;
  }

 private:
  // The letters that the operand alone has: that it is summed over.
  std::string Alone(const Operand& operand, const std::string& other) const {
    const std::string alone = Without(operand.labels, output_ + other + ".");
    std::string once;
    for (const char label : alone) {
      if (once.find(label) == std::string::npos) once += label;
    }
    return once;
  }

  // The shape where it is needed; otherwise its name counts as used, as in TensorFlow.
  Endpoint ShapeOf(const Operand& operand) {
    const std::string& other = &operand == &operands_[0] ? operands_[1].labels : operands_[0].labels;
    if (HasDots(output_) || !Alone(operand, other).empty()) return ShapeTensor(s_, operand.tensor);
    s_.UniqueName("Shape");
    return {};
  }

  // Whether "..." stands for the same dimensions in both operands.
  bool BroadcastAlike() const {
    std::vector<Dim> dims[2];
    for (const size_t i : {0, 1}) {
      const lanescope::Shape& shape = s_.ShapeOf(operands_[i].tensor);
      if (!shape.IsExact()) return false;
      const std::string& labels = operands_[i].labels;
      const size_t first = labels.find(kDots), count = shape.dims().size() + kDots.size() - labels.size();
      const auto own = shape.dims().subspan(first, count);
      dims[i].assign(own.begin(), own.end());
    }
    return dims[0] == dims[1];
  }

  // The part of the operand's shape that "..." stands for.
  Endpoint DotsIn(const Operand& operand, Endpoint shape) {
    const auto begin = static_cast<int>(operand.labels.find(kDots));
    const int end = begin + static_cast<int>(kDots.size()) - static_cast<int>(operand.labels.size());
    const auto names = s_.Name("strided_slice");
    const std::string full = s_.CurrentNames();
    const auto vector = [&](int value, std::string_view name) {
      return s_.Constant(Tensor::FromValues(lanescope::Shape{1}, std::vector<int32_t>{value}), name);
    };
    const Endpoint first = vector(begin, "stack"), last = vector(end, "stack_1"), step = vector(1, "stack_2");
    return op::StridedSlice(s_, shape, first, last, step, {.name = full, .end_mask = end == 0 ? 1 : 0});
  }

  Endpoint By(const Operand& x, const Operand& other, Endpoint shape) {
    const std::string repeated = Alone(x, other.labels), left = Without(x.labels, repeated);
    const Endpoint grad =
        op::Einsum(s_, {g_.grad(), other.tensor}, output_ + "," + other.labels + "->" + left);
    return repeated.empty() ? grad : Repeat(grad, left, x.labels, shape, repeated);
  }

  // The gradient of a sum over `repeated`: `grad` has `from` for letters, the result `to`.
  Endpoint Repeat(Endpoint grad, const std::string& from, const std::string& to, Endpoint shape,
                  const std::string& repeated) {
    std::vector<Input> sizes;
    std::vector<int64_t> axes;
    for (const char label : repeated) {
      axes.push_back(AxisOf(to, label));
      sizes.emplace_back(Element(s_, shape, axes.back()));
    }
    const Endpoint dims = op::Pack(s_, sizes, {.name = "stack"});
    // As TensorFlow has it, the dots too are a letter that is there three times.
    if (Without(to, repeated) == from && !HasRepeats(to) && !HasRepeats(from)) {
      const Endpoint over = s_.Constant(NumbersAs(Input(axes).value(), DataType::kInt32));
      return op::BroadcastTo(s_, op::Reshape(s_, grad, ReducedShape(s_, shape, over)), shape);
    }
    const Endpoint wide = op::ConcatV2(s_, {dims, ShapeTensor(s_, grad)}, 0, {.name = "concat"});
    const Endpoint ones = Ones(static_cast<Dim>(repeated.size()));
    const Endpoint narrow = op::ConcatV2(s_, {ones, ShapeTensor(s_, grad)}, 0, {.name = "concat"});
    const Endpoint broadcast = op::BroadcastTo(s_, op::Reshape(s_, grad, narrow), wide);
    return op::Einsum(s_, {broadcast}, repeated + from + "->" + to);
  }

  // A vector.
  Endpoint Ones(Dim count) {
    const auto names = s_.Name("ones");
    const std::string full = s_.CurrentNames();
    const Endpoint shape =
        s_.Constant(DimsTensor(lanescope::Shape{count}, DataType::kInt32), "shape_as_tensor");
    return op::Fill(s_, shape, ScalarOf(s_, 1, DataType::kInt32), {.name = full});
  }

  const OpGradient& g_;
  Scope& s_;
  std::string output_;
  std::vector<Operand> operands_;
};

std::vector<Gradient> EinsumGradient(const OpGradient& g) {
  ops::ParseEinsum(g.node().StringAttr("equation"), g.num_inputs());
  if (g.num_inputs() > 2)
    Throw(Code::kUnimplemented, "'{}': the gradient of an einsum of {} operands", g.node().name,
          g.num_inputs());
  EinsumGradientOf gradient(g);
  return g.num_inputs() == 1 ? gradient.OfOne() : gradient.OfTwo();
}

}  // namespace

void AddEinsumGradients(GradientTable& table) { table.Add("Einsum", EinsumGradient); }

}  // namespace lanescope::graphs
