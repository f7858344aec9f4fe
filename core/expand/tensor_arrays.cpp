// SPDX-License-Identifier: Apache-2.0
#include "core/expand/tensor_arrays.h"

#include "core/base/error.h"

namespace lanescope {
namespace {

constexpr int64_t kMaxElements = 1 << 16;

}  // namespace

bool IsArrayOp(std::string_view op) {
  return (op.starts_with("TensorArray") && op.ends_with("V3")) || op == "StackV2" || op == "StackPushV2" ||
         op == "StackPopV2" || op == "StackCloseV2";
}

bool ChangesArray(std::string_view op) {
  return op == "TensorArrayWriteV3" || op == "TensorArrayScatterV3" || op == "TensorArraySplitV3" ||
         op == "StackPushV2" || op == "StackPopV2";
}

struct ArrayExpander::Call {
  const Node& node;
  const std::string& name;
  const ExpandedValues& inputs;
  const std::optional<Endpoint>& taken;

  [[noreturn]] void Refuse(Code code, std::string_view why) const {
    Throw(code, "node '{}' ({}): {}", name, node.op, why);
  }
  TensorArray& array() const {
    if (inputs.empty() || inputs[0].array == nullptr)
      Refuse(Code::kUnimplemented, "takes an array of tensors that no op here has made");
    return *inputs[0].array;
  }
  const ExpandedValue& value(size_t i) const {
    if (i >= inputs.size() || inputs[i].empty()) Refuse(Code::kInvalidArgument, "has too few inputs");
    return inputs[i];
  }
  Endpoint tensor(size_t i) const {
    if (!value(i).is_tensor()) Refuse(Code::kInvalidArgument, "takes a tensor where it is given an array");
    return inputs[i].tensor;
  }
};

ExpandedValue ArrayExpander::Flow(const Call& call) {
  if (flow_.empty())
    flow_.tensor = graph_.Constant(call.name + "/flow", Tensor::Scalar(0.0f), call.node.device);
  return flow_;
}

// An integer tensor that does not depend on data.
std::vector<int64_t> ArrayExpander::Numbers(const Call& call, size_t input) const {
  const TensorInfo& info = graph_.info(call.tensor(input));
  if (info.value == nullptr) call.Refuse(Code::kUnimplemented, "takes numbers of elements that data say");
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < info.value->NumElements(); ++i) numbers.push_back(info.value->IntAt(i));
  return numbers;
}

ExpandedValue ArrayExpander::Make(const Call& call) {
  TensorArray* const array = &arrays_.emplace_back();
  array->is_stack = call.node.op == "StackV2";
  if (array->is_stack) return {.array = array};
  array->grows = call.node.BoolAttr("dynamic_size", false);
  array->list.dtype = call.node.TypeAttr("dtype");
  if (call.node.FindAttr("element_shape") != nullptr)
    array->list.element_shape = call.node.GetShapeAttr("element_shape");
  const std::optional<int64_t> size = graph_.ConstantAt(call.tensor(0));
  if (!size) call.Refuse(Code::kUnimplemented, "has as many elements as data say");
  if (*size < 0 || *size > kMaxElements)
    call.Refuse(Code::kInvalidArgument, "has less than no or too many elements");
  array->list.items.resize(static_cast<size_t>(*size));
  return {.array = array};
}

ExpandedValue ArrayExpander::Gradient(const Call& call) {
  TensorArray& of = call.array();
  TensorArray*& gradient = of.gradients[call.node.StringAttr("source", "")];
  if (gradient == nullptr) {
    gradient = &arrays_.emplace_back();
    gradient->list.dtype = of.list.dtype;
    gradient->list.element_shape = of.list.element_shape;
    gradient->gradient_of = &of;
  }
  gradient->list.items.resize(std::max(gradient->list.items.size(), of.list.items.size()));
  return {.array = gradient};
}

void ArrayExpander::Write(const Call& call, int64_t index, const ExpandedValue& value) {
  TensorArray& array = call.array();
  std::vector<ExpandedValue>& items = array.list.items;
  if (index < 0 || index >= (array.grows ? kMaxElements : static_cast<int64_t>(items.size())))
    call.Refuse(Code::kInvalidArgument, "writes an element beyond the array's end");
  if (index >= static_cast<int64_t>(items.size())) items.resize(static_cast<size_t>(index) + 1);
  ExpandedValue& item = items[static_cast<size_t>(index)];
  const std::string below = call.name + "/" + std::to_string(index);
  ExpandedValue written = value;
  if (array.gradient_of != nullptr && item.is_tensor() && value.is_tensor()) {
    NodeBuilder sum = graph_.New("AddV2", below + "/sum", call.node.device);
    written.tensor = graph_.Add(sum.Input(item.tensor).Input(value.tensor));
  }
  if (call.taken) {
    if (item.empty() && value.is_tensor())
      item.tensor =
          graph_.Add(graph_.New("ZerosLike", below + "/unset", call.node.device).Input(value.tensor));
    written = lists_.Choose(*call.taken, written, item, below + "/written", call.node.device);
  }
  item = written;
}

void ArrayExpander::Scatter(const Call& call) {
  const std::vector<int64_t> indices = Numbers(call, 1);
  if (indices.empty()) return;
  const Endpoint parts = graph_.Add(graph_.New("Unpack", call.name + "/elements", call.node.device)
                                        .Input(call.tensor(2))
                                        .Attr("num", static_cast<int64_t>(indices.size()))
                                        .Attr("axis", int64_t{0}));
  for (size_t i = 0; i < indices.size(); ++i) {
    Write(call, indices[i], {.tensor = {parts.node, static_cast<int>(i)}});
  }
}

// Rows of one tensor, `lengths` of them an element.
void ArrayExpander::Split(const Call& call) {
  const std::vector<int64_t> lengths = Numbers(call, 2);
  if (lengths.empty()) return;
  const std::string& device = call.node.device;
  const Endpoint axis = graph_.Constant(call.name + "/axis", Tensor::Scalar<int32_t>(0), device);
  const Endpoint parts = graph_.Add(graph_.New("SplitV", call.name + "/elements", device)
                                        .Input(call.tensor(1))
                                        .Input(call.tensor(2))
                                        .Input(axis)
                                        .Attr("num_split", static_cast<int64_t>(lengths.size())));
  for (size_t i = 0; i < lengths.size(); ++i) {
    Write(call, static_cast<int64_t>(i), {.tensor = {parts.node, static_cast<int>(i)}});
  }
}

// As the list of what is written so far.
ExpandedValues ArrayExpander::Read(const Call& call) {
  TensorArray& array = call.array();
  if (array.gradient_of != nullptr) {
    const std::vector<ExpandedValue>& originals = array.gradient_of->list.items;
    for (size_t i = 0; i < std::min(originals.size(), array.list.items.size()); ++i) {
      ExpandedValue& item = array.list.items[i];
      if (!item.empty() || !originals[i].is_tensor()) continue;
      NodeBuilder zeros = graph_.New("ZerosLike", call.name + "/unset", call.node.device);
      item.tensor = graph_.Add(zeros.Input(originals[i].tensor));
    }
  }
  ExpandedValues inputs = call.inputs;
  // The expander's, so nobody owns it here.
  inputs[0] = {.list = std::shared_ptr<const TensorList>(std::shared_ptr<const void>(), &array.list)};
  return lists_.Expand(call.node, call.name, inputs);
}

ExpandedValues ArrayExpander::Expand(const Node& node, const std::string& name, const ExpandedValues& inputs,
                                     const std::optional<Endpoint>& taken) {
  const Call call{node, name, inputs, taken};
  const std::string_view op = node.op;
  if (op == "StackV2") return {Make(call)};
  if (op == "TensorArrayV3") return {Make(call), Flow(call)};
  if (op == "TensorArrayGradV3") return {Gradient(call), Flow(call)};
  if (op == "TensorArrayWriteV3") {
    const std::optional<int64_t> index = graph_.ConstantAt(call.tensor(1));
    if (!index) call.Refuse(Code::kUnimplemented, "writes an element that data choose");
    Write(call, *index, call.value(2));
    return {Flow(call)};
  }
  if (op == "TensorArrayScatterV3" || op == "TensorArraySplitV3") {
    op == "TensorArraySplitV3" ? Split(call) : Scatter(call);
    return {Flow(call)};
  }
  if (op == "TensorArrayReadV3" || op == "TensorArrayGatherV3" || op == "TensorArrayConcatV3")
    return Read(call);
  if (op == "TensorArraySizeV3") {
    const auto size = static_cast<int32_t>(call.array().list.items.size());
    return {{.tensor = graph_.Constant(name, Tensor::Scalar(size), node.device)}};
  }
  if (op == "TensorArrayCloseV3" || op == "StackCloseV2") return {};
  if (op == "StackPushV2" || op == "StackPopV2") {
    if (!call.array().is_stack) call.Refuse(Code::kInvalidArgument, "takes an array for a stack");
    if (taken) call.Refuse(Code::kUnimplemented, "changes a stack where data say whether it runs");
    std::vector<ExpandedValue>& items = call.array().list.items;
    if (op == "StackPushV2") {
      items.push_back(call.value(1));
      return {call.value(1)};
    }
    if (items.empty()) call.Refuse(Code::kInvalidArgument, "takes from a stack that is empty");
    const ExpandedValue last = items.back();
    items.pop_back();
    return {last};
  }
  call.Refuse(Code::kUnimplemented, "does with arrays of tensors what is not known here");
}

}  // namespace lanescope
