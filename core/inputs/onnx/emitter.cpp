// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/onnx/emitter.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/base/error.h"
#include "core/graph/infer_node.h"

namespace lanescope {
namespace {

const std::vector<int64_t> kToChannelsLast{0, 2, 3, 1}, kToChannelsFirst{0, 3, 1, 2};

Shape InOrder(const Shape& shape, const std::vector<int64_t>& order) {
  if (!shape.known_rank()) return shape;
  Shape ordered;
  for (const int64_t axis : order) ordered.Append(shape.dim(static_cast<int>(axis)));
  return ordered;
}

// A number cast as NumPy casts it; half and bfloat16 are made of floats by a node.
Tensor NumberTensor(double value, DataType dtype) {
  switch (dtype) {
    case DataType::kFloat:
      return Tensor::Scalar(static_cast<float>(value));
    case DataType::kDouble:
      return Tensor::Scalar(value);
    case DataType::kInt32:
      return Tensor::Scalar(static_cast<int32_t>(value));
    case DataType::kInt64:
      return Tensor::Scalar(static_cast<int64_t>(value));
    case DataType::kBool: {
      Tensor tensor(dtype, Shape{});
      *static_cast<uint8_t*>(tensor.raw_data()) = value != 0;
      return tensor;
    }
    default:
      Throw(Code::kUnimplemented, "no constant of type {} is made here", DataTypeName(dtype));
  }
}

bool IsNameCharacter(char c, bool first) {
  const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
  return plain || (!first && (c == '_' || c == '/' || c == '-'));
}

}  // namespace

OnnxValue OnnxValue::List(std::vector<OnnxValue> elements) {
  OnnxValue value;
  value.list_ = std::make_shared<const std::vector<OnnxValue>>(std::move(elements));
  return value;
}

const OnnxValue::Known& OnnxValue::known() const {
  if (list_ != nullptr)
    Throw(Code::kUnimplemented,
          "takes a sequence of tensors, which only ops of sequences and branches do here");
  if (tensor_ == nullptr) Throw(Code::kInvalidArgument, "lacks an input");
  return *tensor_;
}

DataType OnnxValue::dtype() const { return known().info.dtype; }

Shape OnnxValue::shape() const {
  const Shape& stored = known().info.shape;
  return channels_last_ ? InOrder(stored, kToChannelsFirst) : stored;
}

const Tensor* OnnxValue::constant() const {
  return tensor_ == nullptr || channels_last_ ? nullptr : tensor_->info.value.get();
}

void OnnxEmitter::Name(std::string_view name, bool taken) {
  name_ = name;
  use_ = taken ? Use::kTaken : Use::kFree;
}

std::string OnnxEmitter::NodeName(std::string_view op) {
  const Use use = std::exchange(use_, Use::kUsed);
  if (use == Use::kTaken) return name_;
  return FreeName(use == Use::kFree ? name_ : fmt::format("{}/{}", name_, op));
}

std::string OnnxEmitter::FreeName(std::string_view name) {
  std::string legal;
  for (const char c : name) {
    if (legal.empty() && (c == '/' || c == '_')) continue;
    legal += IsNameCharacter(c, legal.empty()) ? c : (legal.empty() ? 'n' : '_');
  }
  if (legal.empty()) legal = "node";
  if (used_.emplace(legal, 1).second) return legal;
  for (;;) {
    const std::string numbered = fmt::format("{}_{}", legal, used_[legal]++);
    if (used_.emplace(numbered, 1).second) return numbered;
  }
}

OnnxValues OnnxEmitter::Outputs(NodeId node, const std::vector<TensorInfo>& infos, bool channels_last) {
  OnnxValues values;
  for (size_t i = 0; i < infos.size(); ++i) {
    OnnxValue value;
    value.tensor_ = std::make_shared<OnnxValue::Known>();
    value.tensor_->at = {node, static_cast<int>(i)};
    value.tensor_->info = infos[i];
    value.channels_last_ = channels_last;
    if (infos[i].value != nullptr && !channels_last)
      value = Constant(*infos[i].value, builder_.graph().node(node).name + "/value");
    values.push_back(value);
  }
  return values;
}

OnnxValue OnnxEmitter::Feed(const std::string& name, DataType dtype, const Shape& shape) {
  const Endpoint at = builder_.Placeholder(name, dtype, shape);
  TensorInfo info;
  info.dtype = dtype;
  info.shape = shape;
  return Outputs(at.node, {info}, false)[0];
}

OnnxValue OnnxEmitter::Constant(Tensor value, std::string_view name) {
  OnnxValue constant;
  constant.tensor_ = std::make_shared<OnnxValue::Known>();
  constant.tensor_->info.dtype = value.dtype();
  constant.tensor_->info.shape = value.shape();
  constant.tensor_->info.value = std::make_shared<const Tensor>(std::move(value));
  constant.tensor_->name = name.empty() ? name_ + "/Const" : std::string(name);
  return constant;
}

OnnxValue OnnxEmitter::Ints(const std::vector<int64_t>& values) {
  Tensor tensor(DataType::kInt32, Shape{static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<int32_t>(values[i]))
      Throw(Code::kInvalidArgument, "has {} for an axis or a size", values[i]);
    tensor.data<int32_t>()[i] = static_cast<int32_t>(values[i]);
  }
  return Constant(std::move(tensor));
}

OnnxValue OnnxEmitter::Int(int64_t value) { return Constant(Tensor::Scalar(static_cast<int32_t>(value))); }

OnnxValue OnnxEmitter::Number(double value, DataType dtype) {
  if (dtype == DataType::kHalf || dtype == DataType::kBfloat16)
    return Cast(Constant(NumberTensor(value, DataType::kFloat)), dtype);
  return Constant(NumberTensor(value, dtype));
}

Endpoint OnnxEmitter::At(const OnnxValue& value) {
  value.known();
  OnnxValue::Known& known = *value.tensor_;
  if (!known.at.node.exists()) known.at = builder_.Const(FreeName(known.name), *known.info.value);
  return known.at;
}

OnnxValues OnnxEmitter::Build(std::string_view op, const OnnxValues& inputs, const Attrs& attrs,
                              bool channels_last) {
  std::vector<TensorInfo> infos;
  for (const OnnxValue& input : inputs) {
    At(input);
    infos.push_back(input.tensor_->info);
  }
  NodeBuilder node = builder_.Op(op, NodeName(op));
  for (const OnnxValue& input : inputs) node.Input(At(input));
  for (const auto& [name, value] : attrs) node.Attr(name, value);
  const NodeId id = node.Build().node;
  const std::vector<TensorInfo> outputs = InferNode(builder_.graph().node(id), infos);
  if (flops_) *flops_ += static_cast<double>(WorkOf(builder_.graph().node(id), infos, outputs).flops);
  return Outputs(id, outputs, channels_last);
}

OnnxValues OnnxEmitter::Nodes(std::string_view op, const OnnxValues& inputs, const Attrs& attrs) {
  OnnxValues plain;
  for (const OnnxValue& input : inputs) plain.push_back(Plain(input));
  return Build(op, plain, attrs, false);
}

OnnxValue OnnxEmitter::Node(std::string_view op, const OnnxValues& inputs, const Attrs& attrs) {
  return Nodes(op, inputs, attrs)[0];
}

OnnxValues OnnxEmitter::ImageNodes(std::string_view op, const OnnxValues& inputs, const Attrs& attrs) {
  return Build(op, inputs, attrs, true);
}

OnnxValue OnnxEmitter::ImageNode(std::string_view op, const OnnxValues& inputs, const Attrs& attrs) {
  return ImageNodes(op, inputs, attrs)[0];
}

OnnxValues OnnxEmitter::CostOnly(const std::string& op, const OnnxValues& inputs,
                                 const std::vector<TensorInfo>& outputs, std::optional<double> flops) {
  std::vector<DataType> types;
  std::vector<ShapeAttr> shapes;
  std::vector<Endpoint> ends;
  bool known = flops.has_value();
  const double work = std::clamp(flops.value_or(0), 0.0, 0x1p60);
  int64_t bytes = 0;
  const auto count = [&](const Shape& shape, DataType dtype) {
    const int64_t elements = shape.known_rank() && shape.IsExact() ? shape.NumElements() : -1;
    known = known && elements >= 0;
    bytes += std::max<int64_t>(0, elements) * static_cast<int64_t>(ElementSize(dtype));
    bytes = std::min<int64_t>(bytes, int64_t{1} << 60);
  };
  for (const OnnxValue& input : inputs) {
    if (!input.exists()) continue;
    ends.push_back(At(Plain(input)));
    count(input.shape(), input.dtype());
  }
  for (const TensorInfo& output : outputs) {
    types.push_back(output.dtype);
    shapes.push_back({output.shape, ""});
    count(output.shape, output.dtype);
  }
  NodeBuilder node = builder_.Op(op, NodeName(op));
  node.Inputs(ends).Attr("_output_types", types).Attr("_output_shapes", shapes);
  if (known) node.Attr("_lanescope_cost", fmt::format("{{\"flops\": {:.0f}, \"bytes\": {}}}", work, bytes));
  flops_ = flops_ && known ? std::optional(*flops_ + work) : std::nullopt;
  return Outputs(node.Build().node, outputs, false);
}

OnnxValue OnnxEmitter::Elementwise(std::string_view op, OnnxValues inputs, const Attrs& attrs) {
  const bool images = std::ranges::any_of(inputs, &OnnxValue::channels_last) &&
                      std::ranges::all_of(inputs, &OnnxValue::known_rank);
  if (!images) return Node(op, inputs, attrs);
  for (OnnxValue& input : inputs) {
    if (input.channels_last() || input.rank() == 0) continue;
    if (input.rank() > 4 || !input.shape().IsExact()) return Node(op, inputs, attrs);
    const Shape shape = input.shape();
    std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end());
    sizes.insert(sizes.begin(), static_cast<size_t>(4 - input.rank()), 1);
    input = ChannelsLast(input.rank() == 4 ? input : Reshaped(input, sizes));
  }
  return ImageNode(op, inputs, attrs);
}

// There and back.
void OnnxEmitter::Remember(const OnnxValue& plain, const std::vector<int64_t>& order,
                           const OnnxValue& turned) {
  std::vector<int64_t> back(order.size());
  for (size_t axis = 0; axis < order.size(); ++axis)
    back[static_cast<size_t>(order[axis])] = static_cast<int64_t>(axis);
  ordered_.insert_or_assign({plain.tensor_.get(), order}, turned);
  ordered_.insert_or_assign({turned.tensor_.get(), back}, plain);
  kept_.push_back(plain);
  kept_.push_back(turned);
}

OnnxValue OnnxEmitter::Transposed(const OnnxValue& value, const std::vector<int64_t>& order) {
  const bool same = std::ranges::is_sorted(order);
  if (same && !value.channels_last()) return value;
  const OnnxValue plain = Plain(value);
  if (same) return plain;
  if (const auto found = ordered_.find({plain.tensor_.get(), order}); found != ordered_.end())
    return found->second;
  const Tensor* constant = plain.constant();
  const bool fold = constant != nullptr && constant->dtype() != DataType::kString;
  const OnnxValue turned = fold
                               ? Constant(TransposedTensor(*constant, order), plain.tensor_->name + "/turned")
                               : Build("Transpose", {plain, Ints(order)}, {}, false)[0];
  Remember(plain, order, turned);
  return turned;
}

OnnxValue OnnxEmitter::ChannelsLast(const OnnxValue& value) {
  if (value.channels_last()) return value;
  OnnxValue turned = Transposed(value, kToChannelsLast);
  turned.channels_last_ = true;
  return turned;
}

OnnxValue OnnxEmitter::Plain(const OnnxValue& value) {
  if (!value.channels_last()) return value;
  OnnxValue stored = value;
  stored.channels_last_ = false;
  return Transposed(stored, kToChannelsFirst);
}

OnnxValue OnnxEmitter::Reshaped(const OnnxValue& value, const std::vector<int64_t>& sizes) {
  const OnnxValue plain = Plain(value);
  const Tensor* constant = plain.constant();
  const bool exact = std::ranges::all_of(sizes, [](int64_t size) { return size >= 0; });
  if (constant != nullptr && exact &&
      Shape(std::span<const Dim>(sizes)).NumElements() == constant->NumElements())
    return Constant(constant->Reshaped(Shape(std::span<const Dim>(sizes))),
                    plain.tensor_->name + "/reshaped");
  return Node("Reshape", {plain, Ints(sizes)});
}

OnnxValue OnnxEmitter::Cast(const OnnxValue& value, DataType dtype) {
  return value.dtype() == dtype ? value : Elementwise("Cast", {value}, {{"DstT", dtype}});
}

Tensor TransposedTensor(const Tensor& tensor, const std::vector<int64_t>& order) {
  const Shape shape = InOrder(tensor.shape(), order);
  Tensor turned(tensor.dtype(), shape);
  const size_t size = ElementSize(tensor.dtype());
  const auto rank = order.size();
  std::vector<int64_t> strides(rank, 1), steps(rank), at(rank, 0);
  for (size_t axis = rank - 1; axis > 0; --axis)
    strides[axis - 1] = strides[axis] * tensor.shape().dim(static_cast<int>(axis));
  for (size_t axis = 0; axis < rank; ++axis) steps[axis] = strides[static_cast<size_t>(order[axis])];
  const auto* from = static_cast<const char*>(tensor.raw_data());
  auto* to = static_cast<char*>(turned.raw_data());
  int64_t offset = 0;
  for (int64_t i = 0; i < turned.NumElements(); ++i, to += size) {
    std::memcpy(to, from + static_cast<size_t>(offset) * size, size);
    for (size_t axis = rank; axis-- > 0;) {
      offset += steps[axis];
      if (++at[axis] < shape.dim(static_cast<int>(axis))) break;
      offset -= steps[axis] * shape.dim(static_cast<int>(axis));
      at[axis] = 0;
    }
  }
  return turned;
}

}  // namespace lanescope
