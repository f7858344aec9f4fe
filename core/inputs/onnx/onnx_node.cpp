// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/onnx/onnx_node.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/inputs/onnx/onnx_tensor.h"

namespace lanescope {
namespace {

// ONNX's numbers for kinds of attributes.
enum Kind {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8
};

}  // namespace

const onnx::AttributeProto* OnnxNode::Find(std::string_view name) const {
  for (const onnx::AttributeProto& attribute : proto_.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

const onnx::AttributeProto* OnnxNode::Find(std::string_view name, int type) const {
  const onnx::AttributeProto* attribute = Find(name);
  if (attribute != nullptr && attribute->type() != type && attribute->type() != 0)
    Throw(Code::kInvalidArgument, "has an attribute '{}' of kind {}, not {}", name, attribute->type(), type);
  return attribute;
}

bool OnnxNode::HasOnly(std::initializer_list<std::string_view> names) const {
  return std::ranges::all_of(proto_.attribute(), [&](const onnx::AttributeProto& attribute) {
    return std::ranges::find(names, std::string_view(attribute.name())) != names.end();
  });
}

int64_t OnnxNode::Int(std::string_view name, int64_t fallback) const {
  const onnx::AttributeProto* attribute = Find(name, kInt);
  return attribute == nullptr ? fallback : attribute->i();
}

float OnnxNode::Float(std::string_view name, float fallback) const {
  const onnx::AttributeProto* attribute = Find(name, kFloat);
  return attribute == nullptr ? fallback : attribute->f();
}

std::string OnnxNode::Text(std::string_view name, std::string_view fallback) const {
  const onnx::AttributeProto* attribute = Find(name, kString);
  return attribute == nullptr ? std::string(fallback) : attribute->s();
}

std::optional<std::vector<int64_t>> OnnxNode::Ints(std::string_view name) const {
  const onnx::AttributeProto* attribute = Find(name, kInts);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::vector<int64_t> OnnxNode::Ints(std::string_view name, const std::vector<int64_t>& fallback) const {
  return Ints(name).value_or(fallback);
}

std::vector<float> OnnxNode::Floats(std::string_view name) const {
  const onnx::AttributeProto* attribute = Find(name, kFloats);
  if (attribute == nullptr) return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

Tensor OnnxNode::TensorOf(std::string_view name) const {
  const onnx::AttributeProto* attribute = Find(name, kTensor);
  if (attribute == nullptr) Throw(Code::kInvalidArgument, "lacks the attribute '{}'", name);
  return OnnxTensor(attribute->t(), folder_);
}

std::vector<std::string> OnnxNode::Texts(std::string_view name) const {
  const onnx::AttributeProto* attribute = Find(name, kStrings);
  if (attribute == nullptr) return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

const onnx::GraphProto& OnnxNode::GraphOf(std::string_view name) const {
  const onnx::AttributeProto* attribute = Find(name, kGraph);
  if (attribute == nullptr) Throw(Code::kInvalidArgument, "lacks the attribute '{}'", name);
  return attribute->g();
}

const OnnxRules& AllOnnxRules() {
  static const OnnxRules* const rules = [] {
    auto* all = new OnnxRules;
    for (const auto add :
         {AddActivationRules, AddAttentionRules, AddConvolutionRules, AddElementRules, AddImageRules,
          AddIndexRules, AddLayerRules, AddLinearRules, AddModelRules, AddNormRules, AddQuantizationRules,
          AddRecurrentRules, AddResizeRules, AddScatterRules, AddSequenceRules, AddShapeRules})
      add(all);
    return all;
  }();
  return *rules;
}

std::string OnnxRuleName(const std::string& domain, const std::string& op) {
  return domain.empty() || domain == "ai.onnx" ? op : domain + "." + op;
}

bool ReadsFormats(std::string_view op) {
  return op == "DequantizeLinear" || op == "Cast" || op == "Identity";
}

std::optional<std::vector<int64_t>> ConstantInts(const OnnxValue& value) {
  const Tensor* tensor = value.constant();
  if (tensor == nullptr || (tensor->dtype() != DataType::kInt64 && tensor->dtype() != DataType::kInt32))
    return std::nullopt;
  std::vector<int64_t> ints;
  for (int64_t i = 0; i < tensor->NumElements(); ++i) ints.push_back(tensor->IntAt(i));
  return ints;
}

std::optional<double> ConstantNumber(const OnnxValue& value) {
  const Tensor* tensor = value.constant();
  if (tensor == nullptr || tensor->NumElements() != 1) return std::nullopt;
  switch (tensor->dtype()) {
    case DataType::kFloat:
      return tensor->data<float>()[0];
    case DataType::kDouble:
      return tensor->data<double>()[0];
    case DataType::kInt32:
    case DataType::kInt64:
      return static_cast<double>(tensor->IntAt(0));
    default:
      return std::nullopt;
  }
}

int64_t Axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) Throw(Code::kInvalidArgument, "has axis {} of {}", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> AllAxes(int rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

bool IsFloat(DataType dtype) {
  return dtype == DataType::kFloat || dtype == DataType::kDouble || dtype == DataType::kHalf ||
         dtype == DataType::kBfloat16;
}

OnnxValue FromTheFront(OnnxEmitter& to, const OnnxValue& indices, int64_t size) {
  if (const std::optional<std::vector<int64_t>> known = ConstantInts(indices)) {
    Tensor fixed(DataType::kInt64, indices.shape());
    for (size_t i = 0; i < known->size(); ++i)
      fixed.data<int64_t>()[i] = (*known)[i] < 0 ? (*known)[i] + size : (*known)[i];
    return to.Constant(std::move(fixed));
  }
  return to.Node("FloorMod", {indices, to.Number(static_cast<double>(size), indices.dtype())});
}

OnnxValue PlacesAlong(OnnxEmitter& to, const OnnxValue& indices, int64_t axis, int64_t size) {
  const Shape shape = indices.shape();
  OnnxValues coordinates;
  for (int other = 0; other < shape.rank(); ++other) {
    if (other == axis) {
      coordinates.push_back(to.Cast(FromTheFront(to, indices, size), DataType::kInt64));
      continue;
    }
    Tensor places(DataType::kInt64, shape);
    int64_t inside = 1;
    for (int i = other + 1; i < shape.rank(); ++i) inside *= shape.dim(i);
    for (int64_t i = 0; i < places.NumElements(); ++i)
      places.data<int64_t>()[i] = i / inside % shape.dim(other);
    coordinates.push_back(to.Constant(std::move(places)));
  }
  return to.Node("Pack", coordinates, {{"axis", static_cast<int64_t>(shape.rank())}});
}

OnnxValue Reduced(OnnxEmitter& to, std::string_view op, const OnnxValue& value, std::vector<int64_t> axes,
                  bool keep) {
  constexpr int64_t kStored[] = {0, 3, 1, 2};  // where the axes of images with channels last lie
  for (int64_t& axis : axes) {
    axis = Axis(axis, value.rank());
    if (value.channels_last() && keep) axis = kStored[axis];
  }
  const OnnxEmitter::Attrs attrs{{"keep_dims", keep}};
  if (value.channels_last() && keep) return to.ImageNode(op, {value, to.Ints(axes)}, attrs);
  return to.Node(op, {value, to.Ints(axes)}, attrs);
}

}  // namespace lanescope
