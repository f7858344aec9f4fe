// SPDX-License-Identifier: Apache-2.0
// Ops that give the elements that they take, in other places.
#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "core/strategies/batch_rule.h"
#include "core/strategies/layout_lookups.h"

namespace lanescope {
namespace {

using Vanishing = BatchRule::Vanishing;

void Passes(BatchRule& rule) {
  BatchPart made = rule.in(0);
  // A sum over the batch goes to all of its rows.
  if (made.is_terms() && rule.AxisOfRows(0)) {
    rule.Take(0, --made.degree);
    made.layout = kWhole;
  }
  rule.GiveAll(made, Vanishing::kIsProblem);
}

void Reshapes(BatchRule& rule) {
  Passes(rule);
  const Layout& rows = rule.in(0).layout;
  const auto axis = rule.AxisOfRows(0);
  const Shape &from = rule.info(0).shape, &to = rule.output(0).shape;
  if (!rows.parts() || !axis || !from.IsExact()) return;
  const auto behind = Reshaped(from, rows, to, rule.count());
  if (!behind || behind->axis != *axis) return rule.Fail("takes rows of the batch apart");
  BatchPart made = rule.in(0);
  made.layout = *behind;
  rule.GiveExactly(0, made);
}

// Not of rows, which would be other ones in every part.
void FailWhereCut(BatchRule& rule, size_t k) {
  const Layout& rows = rule.in(0).layout;
  const auto axis = rule.AxisOfRows(k);
  if (!rows.parts() || !axis) return;
  if (rule.info(0).shape.dim(rows.axis) != rule.output(k).shape.dim(*axis))
    rule.Fail("takes some rows of the batch");
}

// Edges belong to rows of the batch, not to its ends; a number other than 0 is no part of a sum.
void Pads(BatchRule& rule) {
  if (rule.num_inputs() == 3 && !rule.is_zero(2)) {
    rule.TakePlain(0);
    rule.GiveAll({}, Vanishing::kIsProblem);
  } else {
    Passes(rule);
  }
  FailWhereCut(rule, 0);
}

void Slices(BatchRule& rule) {
  Passes(rule);
  FailWhereCut(rule, 0);
  const auto strides = rule.num_inputs() == 4 ? NumbersOf(rule.info(3)) : std::nullopt;
  const auto axis = static_cast<size_t>(rule.in(0).layout.axis);
  const bool is_plain =
      rule.node().IntAttr("ellipsis_mask", 0) == 0 && rule.node().IntAttr("new_axis_mask", 0) == 0;
  if (rule.in(0).layout.parts() && strides && is_plain && axis < strides->size() && (*strides)[axis] < 0)
    rule.Fail("turns the rows of the batch round");
}

// The gradient has the rows that the slice had.
void SlicesBackward(BatchRule& rule) {
  rule.Give(0, rule.in(4), Vanishing::kIsProblem);
  const Layout& rows = rule.in(4).layout;
  const auto axis = rule.AxisOfRows(0);
  if (rows.parts() && axis && rule.info(4).shape.dim(rows.axis) != rule.output(0).shape.dim(*axis))
    rule.Fail("takes some rows of the batch");
}

void SplitsAt(BatchRule& rule, size_t of, size_t by) {
  const Layout& rows = rule.in(of).layout;
  rule.GiveAll(rule.in(of), Vanishing::kIsProblem);
  const Shape& from = rule.info(of).shape;
  if (!rows.parts() || AxisOf(rule.info(by), from.rank()) != rows.axis) return;
  const int64_t segment = from.dim(rows.axis) / rows.segments;
  for (size_t k = 0; k < rule.num_outputs(); ++k) {
    const Dim size = rule.output(k).shape.dim(rows.axis);
    if (size == 0 || size % segment != 0) return rule.Fail("takes some rows of the batch");
    BatchPart made = rule.in(of);
    made.layout = InParts(rows.axis, size / segment);
    rule.GiveExactly(k, made);
  }
}
void Splits(BatchRule& rule) { SplitsAt(rule, 1, 0); }
void SplitsBySizes(BatchRule& rule) { SplitsAt(rule, 0, 2); }

void Packs(BatchRule& rule) { rule.Give(0, rule.TakeAlike(rule.All()), Vanishing::kIsProblem); }

void JoinsAt(BatchRule& rule, size_t axis_input) {
  std::vector<size_t> tensors = rule.All();
  std::erase(tensors, axis_input);
  BatchPart made = rule.TakeAlike(tensors);
  rule.Give(0, made, Vanishing::kIsProblem);
  const Shape& to = rule.output(0).shape;
  const auto axis = AxisOf(rule.info(axis_input), to.rank()), rows = rule.AxisOfRows(0);
  if (!rows || axis != *rows) return;
  // Several batches behind each other.
  const Layout& first = rule.in(tensors[0]).layout;
  if (!first.parts()) return rule.Fail("puts something beside the rows of the batch");
  const int64_t segment = rule.info(tensors[0]).shape.dim(*axis) / first.segments;
  for (const size_t i : tensors) {
    if (!rule.in(i).layout.parts() || rule.info(i).shape.dim(*axis) % segment != 0)
      return rule.Fail("puts something beside the rows of the batch");
  }
  made.layout = InParts(*axis, to.dim(*axis) / segment);
  rule.GiveExactly(0, made);
}
void Joins(BatchRule& rule) { JoinsAt(rule, rule.num_inputs() - 1); }
void JoinsOld(BatchRule& rule) { JoinsAt(rule, 0); }

void Reverses(BatchRule& rule) {
  Passes(rule);
  const Layout& rows = rule.in(0).layout;
  const auto axes = NumbersOf(rule.info(1));
  if (!rows.parts() || !axes) return;
  for (const int64_t axis : *axes) {
    if ((axis < 0 ? axis + rule.info(0).shape.rank() : axis) == rows.axis)
      rule.Fail("turns the rows of the batch round");
  }
}

// A constant without a fraction.
bool IsWhole(const TensorInfo& number) {
  if (number.value == nullptr || number.value->NumElements() != 1) return false;
  if (number.value->dtype() != DataType::kFloat) return NumbersOf(number).has_value();
  const float value = *number.value->data<float>();
  return std::trunc(value) == value;
}

// Elements by another tensor's shape.
void FillsRows(BatchRule& rule) {
  BatchPart made;
  made.is_whole = rule.node().op == "Fill" && IsWhole(rule.info(1));
  if (rule.node().op == "Fill") made.degree = rule.in(1).degree;
  if (rule.node().op == "Fill" && rule.in(1).is_terms()) rule.Take(1, --made.degree);
  for (size_t k = 0; k < rule.num_outputs(); ++k) {
    rule.GiveExactly(k, made);
    if (const auto axis = rule.AxisOfRows(k)) {
      made.layout = InParts(*axis, rule.in(0).layout.parts() ? rule.in(0).layout.segments : 1);
      made.is_alike = !rule.node().op.starts_with("Random") && !rule.node().op.starts_with("Truncated") &&
                      !rule.node().op.starts_with("Stateless");
      rule.GiveExactly(k, made);
      made.layout = kWhole;
      made.is_alike = false;
    }
  }
}

void Tells(BatchRule& rule) {
  for (size_t k = 0; k < rule.num_outputs(); ++k) rule.GiveExactly(k, {});
}

void Counts(BatchRule& rule) {
  BatchPart made;
  const auto axis = rule.AxisOfRows(0);
  if (axis) made = {.layout = InParts(*axis), .counts_rows = true};
  rule.GiveExactly(0, made);
}

const std::map<std::string_view, BatchRuleFunction, std::less<>>& ViewRules() {
  static const std::map<std::string_view, BatchRuleFunction, std::less<>> kTable = {
      {"Reshape", &Reshapes},
      {"Squeeze", &Reshapes},
      {"ExpandDims", &Reshapes},
      {"Transpose", &Passes},
      {"BroadcastTo", &Passes},
      {"Tile", &Passes},
      {"Pad", &Pads},
      {"PadV2", &Pads},
      {"MirrorPad", &Pads},
      {"SpaceToDepth", &Passes},
      {"DepthToSpace", &Passes},
      {"MatrixBandPart", &Passes},
      {"Unpack", &Passes},
      {"Slice", &Slices},
      {"StridedSlice", &Slices},
      {"StridedSliceGrad", &SlicesBackward},
      {"Split", &Splits},
      {"SplitV", &SplitsBySizes},
      {"Pack", &Packs},
      {"ConcatV2", &Joins},
      {"Concat", &JoinsOld},
      {"ReverseV2", &Reverses},
      {"Fill", &FillsRows},
      {"ZerosLike", &FillsRows},
      {"OnesLike", &FillsRows},
      {"RandomUniform", &FillsRows},
      {"RandomUniformInt", &FillsRows},
      {"RandomStandardNormal", &FillsRows},
      {"TruncatedNormal", &FillsRows},
      {"StatelessRandomUniformV2", &FillsRows},
      {"StatelessRandomNormalV2", &FillsRows},
      {"Shape", &Tells},
      {"ShapeN", &Tells},
      {"Size", &Tells},
      {"Rank", &Tells},
      {"BroadcastGradientArgs", &Tells},
      {"BroadcastArgs", &Tells},
      {"NoOp", &Tells},
      {"Range", &Counts},
  };
  return kTable;
}

}  // namespace

BatchRuleFunction FindViewBatchRule(const Node& node) {
  const auto rule = ViewRules().find(node.op);
  return rule != ViewRules().end() ? rule->second : nullptr;
}

}  // namespace lanescope
