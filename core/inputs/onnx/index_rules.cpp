// SPDX-License-Identifier: Apache-2.0
// Ops that read by index, and tensors made of nothing.
#include <algorithm>

#include "core/base/error.h"
#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {
namespace {

OnnxValues Gather(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank() || x.rank() == 0) return {};
  const int64_t axis = Axis(node.Int("axis", 0), x.rank());
  const int64_t size = x.shape().dim(static_cast<int>(axis));
  if (!IsExact(size) || size == 0) return {};
  // Rows of a table of words are numbered from the front.
  const bool words = x.constant() != nullptr && IsFloat(x.dtype()) && inputs[1].constant() == nullptr;
  const OnnxValue indices = words ? inputs[1] : FromTheFront(to, inputs[1], size);
  return {to.Node("GatherV2", {x, indices, to.Int(axis)})};
}

OnnxValues GatherNd(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  if (node.Int("batch_dims", 0) != 0) return {};
  return {to.Node("GatherNd", {inputs[0], inputs[1]})};
}

OnnxValues GatherElements(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  constexpr int64_t kMostPlaces = int64_t{1} << 20;
  const OnnxValue& x = inputs[0];
  const OnnxValue& indices = inputs[1];
  if (!x.known_rank() || x.rank() == 0 || indices.rank() != x.rank() || x.rank() == Shape::kMaxRank)
    return {};
  const Shape shape = indices.shape();
  const int64_t axis = Axis(node.Int("axis", 0), x.rank()), size = x.shape().dim(static_cast<int>(axis));
  if (!IsExact(size) || size == 0 || !shape.IsExact() || shape.NumElements() > kMostPlaces) return {};
  return {to.Node("GatherNd", {x, PlacesAlong(to, indices, axis, size)})};
}

OnnxValues ConstantNode(OnnxEmitter& to, const OnnxNode& node, const OnnxValues&) {
  if (node.Has("value")) return {to.Constant(node.TensorOf("value"))};
  if (node.Has("value_float")) return {to.Constant(Tensor::Scalar(node.Float("value_float", 0)))};
  if (node.Has("value_int")) return {to.Constant(Tensor::Scalar(node.Int("value_int", 0)))};
  if (node.Has("value_floats")) {
    const std::vector<float> values = node.Floats("value_floats");
    return {to.Constant(Tensor::FromValues<float>({static_cast<int64_t>(values.size())}, values))};
  }
  if (node.Has("value_ints")) {
    const std::vector<int64_t> values = node.Ints("value_ints", {});
    return {to.Constant(Tensor::FromValues<int64_t>({static_cast<int64_t>(values.size())}, values))};
  }
  return {};
}

OnnxValues ConstantOfShape(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  Tensor value = node.Has("value") ? node.TensorOf("value") : Tensor::Scalar(0.0f);
  if (value.NumElements() != 1) Throw(Code::kInvalidArgument, "is made of {} values", value.NumElements());
  return {to.Node("Fill", {inputs[0], to.Constant(value.Reshaped(Shape{}))})};
}

OnnxValues Range(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  return {to.Node("Range", {inputs[0], inputs[1], inputs[2]})};
}

// The upper or lower triangle, from diagonal k on. The band op keeps the main diagonal always; where it is to
// go, a mask does.
OnnxValues Trilu(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  constexpr int64_t kMostPlaces = int64_t{1} << 24;
  const OnnxValue& x = inputs[0];
  int64_t k = 0;
  if (inputs[1].exists()) {
    const std::optional<std::vector<int64_t>> given = ConstantInts(inputs[1]);
    if (!given.has_value() || given->size() != 1) return {};
    k = given->front();
  }
  if (!x.known_rank() || x.rank() < 2 || !x.shape().IsExact()) return {};
  const int64_t rows = x.shape().dim(x.rank() - 2), columns = x.shape().dim(x.rank() - 1);
  const bool upper = node.Int("upper", 1) != 0;
  k = std::clamp(k, -rows, columns);
  if (upper ? k <= 0 : k >= 0)
    return {to.Node("MatrixBandPart", {x, to.Int(upper ? -k : -1), to.Int(upper ? -1 : k)})};
  if (columns == 0 || rows > kMostPlaces / columns) return {};
  Tensor kept(DataType::kBool, Shape{rows, columns});
  auto* bits = static_cast<uint8_t*>(kept.raw_data());
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t diagonal = i % columns - i / columns;
    bits[i] = upper ? diagonal >= k : diagonal <= k;
  }
  return {to.Node("SelectV2", {to.Constant(std::move(kept)), x, to.Number(0, x.dtype())})};
}

OnnxValues OneHot(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const std::optional<double> depth = ConstantNumber(inputs[1]);
  if (!depth.has_value() || *depth < 0 || *depth > 0x1p30 || inputs[2].rank() != 1 || !inputs[0].known_rank())
    return {};
  const OnnxValues values = to.Nodes("Unpack", {inputs[2]}, {{"num", int64_t{2}}});
  const int64_t axis = Axis(node.Int("axis", -1), inputs[0].rank() + 1);
  return {to.Node("OneHot",
                  {FromTheFront(to, inputs[0], static_cast<int64_t>(*depth)),
                   to.Int(static_cast<int64_t>(*depth)), values[1], values[0]},
                  {{"axis", axis == inputs[0].rank() ? int64_t{-1} : axis}})};
}

}  // namespace

void AddIndexRules(OnnxRules* rules) {
  rules->emplace("Gather", Gather);
  rules->emplace("GatherND", GatherNd);
  rules->emplace("GatherElements", GatherElements);
  rules->emplace("Constant", ConstantNode);
  rules->emplace("ConstantOfShape", ConstantOfShape);
  rules->emplace("Range", Range);
  rules->emplace("Trilu", Trilu);
  rules->emplace("OneHot", OneHot);
}

}  // namespace lanescope
