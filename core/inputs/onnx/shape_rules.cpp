// SPDX-License-Identifier: Apache-2.0
// Ops that move elements and leave them as they are.
#include <algorithm>

#include "core/base/error.h"
#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {
namespace {

// 0 is the size that the axis has, unless `allowzero` says that it is none.
OnnxValues Reshape(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  std::optional<std::vector<int64_t>> sizes =
      inputs[1].exists() ? ConstantInts(inputs[1]) : node.Ints("shape");
  if (!sizes.has_value()) return {to.Node("Reshape", {x, inputs[1]})};
  for (size_t axis = 0; axis < sizes->size(); ++axis) {
    int64_t& size = (*sizes)[axis];
    if (size != 0 || node.Int("allowzero", 0) != 0) continue;
    if (!x.known_rank() || static_cast<int>(axis) >= x.rank() ||
        !IsExact(x.shape().dim(static_cast<int>(axis))))
      return {};
    size = x.shape().dim(static_cast<int>(axis));
  }
  return {to.Reshaped(x, *sizes)};
}

OnnxValues TransposeAxes(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank()) return {};
  std::vector<int64_t> order = AllAxes(x.rank());
  std::ranges::reverse(order);
  order = node.Ints("perm", order);
  std::vector<int64_t> sorted = order;
  std::ranges::sort(sorted);
  if (sorted != AllAxes(x.rank())) Throw(Code::kInvalidArgument, "orders other axes than the tensor has");
  return {to.Transposed(x, order)};
}

OnnxValues Flatten(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank() || !x.shape().IsExact()) return {};
  const int64_t given = node.Int("axis", 1);
  const int64_t axis = given == x.rank() ? given : Axis(given, std::max(1, x.rank()));
  int64_t rows = 1, columns = 1;
  for (int i = 0; i < x.rank(); ++i) (i < axis ? rows : columns) *= x.shape().dim(i);
  return {to.Reshaped(x, {rows, columns})};
}

// Axes are an attribute, or, from version 13 on, an input. Empty where they are not constant.
std::optional<std::vector<int64_t>> AxesOf(const OnnxNode& node, const OnnxValues& inputs) {
  return inputs[1].exists() ? ConstantInts(inputs[1]) : node.Ints("axes", {});
}

OnnxValues Squeeze(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const std::optional<std::vector<int64_t>> axes = AxesOf(node, inputs);
  if (!axes.has_value()) return {};
  return {to.Node("Squeeze", {inputs[0]}, {{"squeeze_dims", *axes}})};
}

OnnxValues Unsqueeze(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  std::optional<std::vector<int64_t>> axes = AxesOf(node, inputs);
  if (!axes.has_value() || !inputs[0].known_rank() || axes->size() > 8) return {};
  const int rank = inputs[0].rank() + static_cast<int>(axes->size());
  for (int64_t& axis : *axes) axis = Axis(axis, rank);
  std::ranges::sort(*axes);
  OnnxValue result = inputs[0];
  for (const int64_t axis : *axes) result = to.Node("ExpandDims", {result, to.Int(axis)});
  return {result};
}

// The sizes are broadcast with the tensor's own.
OnnxValues Expand(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  const std::optional<std::vector<int64_t>> sizes = ConstantInts(inputs[1]);
  if (!sizes.has_value() || !inputs[0].known_rank() || !inputs[0].shape().IsExact()) return {};
  if (std::ranges::any_of(*sizes, [](int64_t size) { return size < 0; }))
    Throw(Code::kInvalidArgument, "has an axis of negative size");
  const Shape shape = BroadcastShapes(inputs[0].shape(), Shape(std::span<const Dim>(*sizes)));
  return {to.Node("BroadcastTo", {inputs[0], to.Ints({shape.dims().begin(), shape.dims().end()})})};
}

OnnxValues Concat(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  OnnxValues parts;
  for (const OnnxValue& input : inputs)
    if (input.exists()) parts.push_back(input);
  if (!std::ranges::all_of(parts, &OnnxValue::known_rank)) return {};
  const int64_t axis = Axis(node.Int("axis", 0), parts[0].rank());
  if (parts.size() == 1) return {parts[0]};
  if (axis == 1 && std::ranges::all_of(parts, &OnnxValue::channels_last)) {
    parts.push_back(to.Int(3));
    return {to.ImageNode("ConcatV2", parts, {{"N", static_cast<int64_t>(parts.size() - 1)}})};
  }
  parts.push_back(to.Int(axis));
  return {to.Node("ConcatV2", parts, {{"N", static_cast<int64_t>(parts.size() - 1)}})};
}

OnnxValues Split(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank() || node.num_outputs() == 0) return {};
  const int64_t axis = Axis(node.Int("axis", 0), x.rank());
  const int64_t size = x.shape().dim(static_cast<int>(axis)), count = node.num_outputs();
  std::optional<std::vector<int64_t>> sizes =
      inputs[1].exists() ? ConstantInts(inputs[1]) : node.Ints("split");
  if (inputs[1].exists() && !sizes.has_value()) return {};
  if (!sizes.has_value()) {
    if (!IsExact(size)) return {};
    const int64_t each = (size + count - 1) / count;
    sizes.emplace(static_cast<size_t>(count), each);
    sizes->back() = size - each * (count - 1);
  }
  if (static_cast<int64_t>(sizes->size()) != count)
    Throw(Code::kInvalidArgument, "has {} sizes for {} outputs", sizes->size(), count);
  if (count == 1) return {x};
  return to.Nodes("SplitV", {x, to.Ints(*sizes), to.Int(axis)}, {{"num_split", count}});
}

// Begins, ends, axes and steps are inputs, or, before version 10, attributes.
OnnxValues Slice(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank()) return {};
  const auto list = [&](size_t input, const char* attribute) -> std::optional<std::vector<int64_t>> {
    if (node.opset() < 10) return node.Ints(attribute);
    return input < inputs.size() && inputs[input].exists() ? ConstantInts(inputs[input]) : std::nullopt;
  };
  const auto given = [&](size_t input) {
    return node.opset() >= 10 && input < inputs.size() && inputs[input].exists();
  };
  const std::optional<std::vector<int64_t>> begins = list(1, "starts"), ends = list(2, "ends"),
                                            axes = list(3, "axes"), steps = list(4, "steps");
  if (!begins || !ends || begins->size() != ends->size() || (given(3) && !axes) || (given(4) && !steps))
    return {};
  const auto rank = static_cast<size_t>(x.rank());
  std::vector<int64_t> begin(rank, 0), end(rank, 0), step(rank, 1);
  int64_t from_begin = (int64_t{1} << rank) - 1, to_end = from_begin;
  for (size_t i = 0; i < begins->size(); ++i) {
    if ((axes && i >= axes->size()) || (steps && i >= steps->size()))
      Throw(Code::kInvalidArgument, "has fewer axes or steps than begins");
    const auto axis = static_cast<size_t>(Axis(axes ? (*axes)[i] : static_cast<int64_t>(i), x.rank()));
    const int64_t size = x.shape().dim(static_cast<int>(axis));
    if (!IsExact(size)) return {};
    step[axis] = steps ? (*steps)[i] : 1;
    if (step[axis] == 0) Throw(Code::kInvalidArgument, "has a step of 0");
    // Beyond the tensor means to its end; a step backwards ends before the first element by -size - 1.
    begin[axis] = std::clamp((*begins)[i], -size - 1, size);
    end[axis] = std::clamp((*ends)[i], -size - 1, size);
    from_begin &= ~(int64_t{1} << axis);
    to_end &= ~(int64_t{1} << axis);
  }
  return {to.Node("StridedSlice", {x, to.Ints(begin), to.Ints(end), to.Ints(step)},
                  {{"begin_mask", from_begin}, {"end_mask", to_end}})};
}

OnnxValues Tile(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  return {to.Node("Tile", {inputs[0], inputs[1]})};
}

// All begins, then all ends; from version 18 on of some axes.
OnnxValues Pad(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  const std::optional<std::vector<int64_t>> pads =
      inputs[1].exists() ? ConstantInts(inputs[1]) : node.Ints("pads");
  if (!x.known_rank() || !pads.has_value()) return {};
  std::vector<int64_t> axes = AllAxes(x.rank());
  if (inputs.size() > 3 && inputs[3].exists()) {
    const std::optional<std::vector<int64_t>> given = ConstantInts(inputs[3]);
    if (!given.has_value()) return {};
    axes = *given;
  }
  if (pads->size() != 2 * axes.size())
    Throw(Code::kInvalidArgument, "has {} pads for {} axes", pads->size(), axes.size());
  Tensor sizes(DataType::kInt64, Shape{x.rank(), 2});
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = Axis(axes[i], x.rank());
    sizes.data<int64_t>()[2 * axis] = (*pads)[i];
    sizes.data<int64_t>()[2 * axis + 1] = (*pads)[i + axes.size()];
    if ((*pads)[i] < 0 || (*pads)[i + axes.size()] < 0) return {};
  }
  const std::string mode = node.Text("mode", "constant");
  const OnnxValue where = to.Constant(std::move(sizes));
  if (mode == "reflect") return {to.Node("MirrorPad", {x, where}, {{"mode", std::string("REFLECT")}})};
  if (mode != "constant") return {};
  const OnnxValue number =
      inputs[2].exists() ? to.Reshaped(inputs[2], {}) : to.Number(node.Float("value", 0), x.dtype());
  return {to.Node("PadV2", {x, where, number})};
}

OnnxValues ShapeOf(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank() || !x.shape().IsExact())
    return node.Has("start") || node.Has("end")
               ? OnnxValues{}
               : OnnxValues{to.Node("Shape", {x}, {{"out_type", DataType::kInt64}})};
  const int64_t rank = x.rank();
  const auto clamped = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t begin = clamped(node.Int("start", 0)), end = std::max(begin, clamped(node.Int("end", rank)));
  Tensor sizes(DataType::kInt64, Shape{end - begin});
  for (int64_t axis = begin; axis < end; ++axis)
    sizes.data<int64_t>()[axis - begin] = x.shape().dim(static_cast<int>(axis));
  return {to.Constant(std::move(sizes))};
}

OnnxValues SizeOf(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  return {to.Node("Size", {inputs[0]}, {{"out_type", DataType::kInt64}})};
}

}  // namespace

void AddShapeRules(OnnxRules* rules) {
  rules->emplace("Reshape", Reshape);
  rules->emplace("Transpose", TransposeAxes);
  rules->emplace("Flatten", Flatten);
  rules->emplace("Squeeze", Squeeze);
  rules->emplace("Unsqueeze", Unsqueeze);
  rules->emplace("Expand", Expand);
  rules->emplace("Concat", Concat);
  rules->emplace("Split", Split);
  rules->emplace("Slice", Slice);
  rules->emplace("Tile", Tile);
  rules->emplace("Pad", Pad);
  rules->emplace("Shape", ShapeOf);
  rules->emplace("Size", SizeOf);
}

}  // namespace lanescope
