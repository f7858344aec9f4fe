// SPDX-License-Identifier: Apache-2.0
#include "core/expand/tensor_lists.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/expand/tensor_list_call.h"

namespace lanescope {
namespace {

constexpr size_t kMaxCopied = size_t{1} << 26;

}  // namespace

bool IsListOp(std::string_view op) {
  return op.starts_with("TensorList") || op == "EmptyTensorList" || op == "OptionalFromValue" ||
         op == "OptionalNone" || op == "OptionalGetValue" || op == "OptionalHasValue";
}

bool HasLists(const ExpandedValues& values) {
  return std::ranges::any_of(
      values, [](const ExpandedValue& value) { return value.is_list() || value.array != nullptr; });
}

ExpandedValue ListExpander::Made(TensorList list) {
  copied_ += list.items.size();
  if (copied_ > kMaxCopied || list.items.size() > static_cast<size_t>(kMaxListLength)) {
    Throw(Code::kInvalidArgument, "a list of tensors with more than {} elements, or too many long ones",
          kMaxListLength);
  }
  return {.list = std::make_shared<const TensorList>(std::move(list))};
}

// The node's own output, under its name.
ExpandedValue ListExpander::Named(const Call& call, Endpoint tensor) {
  return {.tensor = graph_.Add(graph_.New("Identity", call.name, call.node.device).Input(tensor))};
}

// The elements' shape by an input of the call.
Shape ListExpander::ShapeOf(const Call& call, size_t input) const {
  const TensorInfo& info = graph_.info(call.tensor(input));
  if (info.value == nullptr || info.value->shape().rank() != 1) return Shape::Unknown();
  const int64_t rank = info.value->NumElements();
  if (rank > Shape::kMaxRank) return Shape::Unknown();
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = info.value->IntAt(i);
    if (size < -1) call.Refuse(Code::kInvalidArgument, "asks for an element of negative size");
    shape.Append(size < 0 ? kUnknownDim : size);
  }
  return shape;
}

Endpoint ListExpander::Element(const Call& call, const TensorList& list, size_t index, const Shape& shape) {
  const ExpandedValue& item = list.items[index];
  if (item.is_list()) call.Refuse(Code::kUnimplemented, "takes a list in a list for a tensor");
  if (item.is_tensor()) return item.tensor;
  Shape wanted = MergeShapes(shape, list.element_shape);
  for (const ExpandedValue& other : list.items) {
    if (other.is_tensor()) wanted = MergeShapes(wanted, graph_.info(other.tensor).shape);
  }
  if (!wanted.IsExact()) {
    call.Refuse(Code::kInvalidArgument, "takes an element that nobody has set, and whose shape is not known");
  }
  if (ElementSize(list.dtype) == 0)
    call.Refuse(Code::kUnimplemented, "takes an element that nobody has set, of a type without zero");
  Tensor dims(DataType::kInt64, Shape{wanted.rank()});
  for (int i = 0; i < wanted.rank(); ++i) dims.data<int64_t>()[i] = wanted[i];
  const Endpoint zero = graph_.Constant(call.name + "/zero", Tensor(list.dtype, Shape{}), call.node.device);
  const Endpoint size = graph_.Constant(call.name + "/shape", dims, call.node.device);
  return graph_.Add(graph_.New("Fill", call.name + "/zeros", call.node.device).Input(size).Input(zero));
}

Endpoint ListExpander::Pack(const Call& call, const std::vector<Endpoint>& elements, const TensorList& list,
                            const Shape& shape) {
  if (!elements.empty()) {
    return graph_.Add(
        graph_.New("Pack", call.name, call.node.device).Inputs(elements).Attr("axis", int64_t{0}));
  }
  Shape none = MergeShapes(shape, list.element_shape);
  if (!none.IsExact() || ElementSize(list.dtype) == 0)
    call.Refuse(Code::kInvalidArgument, "stacks no elements, of a shape that is not known");
  none.Insert(0, 0);
  return graph_.Constant(call.name, Tensor(list.dtype, none), call.node.device);
}

ExpandedValue ListExpander::Stack(const Call& call) {
  const TensorList& list = call.list(0);
  const Shape shape = ShapeOf(call, 1);
  std::vector<Endpoint> elements;
  for (size_t i = 0; i < list.items.size(); ++i) elements.push_back(Element(call, list, i, shape));
  return {.tensor = Pack(call, elements, list, shape)};
}

// The elements along their first axis, and how long each is.
ExpandedValue ListExpander::Concat(const Call& call, ExpandedValue* lengths) {
  const TensorList& list = call.list(0);
  if (list.items.empty()) call.Refuse(Code::kUnimplemented, "joins no elements");
  std::vector<Endpoint> elements;
  Tensor sizes(DataType::kInt64, Shape{static_cast<Dim>(list.items.size())});
  for (size_t i = 0; i < list.items.size(); ++i) {
    elements.push_back(Element(call, list, i, Shape::Unknown()));
    const Shape& shape = graph_.info(elements.back()).shape;
    if (shape.rank() < 1 || !IsExact(shape[0]))
      call.Refuse(Code::kUnimplemented, "joins elements whose first size depends on data");
    sizes.data<int64_t>()[i] = shape[0];
  }
  lengths->tensor = graph_.Constant(call.name + "/lengths", sizes, call.node.device);
  if (elements.size() == 1) return Named(call, elements[0]);
  const Endpoint axis = graph_.Constant(call.name + "/axis", Tensor::Scalar<int32_t>(0), call.node.device);
  NodeBuilder joined = graph_.New("ConcatV2", call.name, call.node.device);
  return {.tensor = graph_.Add(joined.Inputs(elements).Input(axis))};
}

ExpandedValue ListExpander::Gather(const Call& call) {
  const TensorList& list = call.list(0);
  const TensorInfo& indices = graph_.info(call.tensor(1));
  if (indices.value == nullptr) call.Refuse(Code::kUnimplemented, "takes elements that data choose");
  const Shape shape = ShapeOf(call, 2);
  const std::shared_ptr<const Tensor> chosen = indices.value;
  std::vector<Endpoint> elements;
  for (int64_t i = 0; i < chosen->NumElements(); ++i) {
    const int64_t index = chosen->IntAt(i);
    if (index < 0 || index >= static_cast<int64_t>(list.items.size()))
      call.Refuse(Code::kInvalidArgument, "takes an element beyond the list's end");
    elements.push_back(Element(call, list, static_cast<size_t>(index), shape));
  }
  return {.tensor = Pack(call, elements, list, shape)};
}

ExpandedValue ListExpander::GetItem(const Call& call) {
  const TensorList& list = call.any_list(0);
  const auto index = graph_.ConstantAt(call.tensor(1));
  if (index) {
    if (*index < 0 || *index >= static_cast<int64_t>(list.items.size()))
      call.Refuse(Code::kInvalidArgument, "takes an element beyond the list's end");
    const ExpandedValue& item = list.items[static_cast<size_t>(*index)];
    if (item.is_list()) return item;
    return {.tensor = Element(call, list, static_cast<size_t>(*index), ShapeOf(call, 2))};
  }
  std::vector<Endpoint> elements;
  for (size_t i = 0; i < list.items.size(); ++i) elements.push_back(Element(call, list, i, ShapeOf(call, 2)));
  if (elements.empty()) call.Refuse(Code::kInvalidArgument, "takes an element of an empty list");
  const Endpoint all = graph_.Add(graph_.New("Pack", call.name + "/elements", call.node.device)
                                      .Inputs(elements)
                                      .Attr("axis", int64_t{0}));
  const Endpoint axis = graph_.Constant(call.name + "/axis", Tensor::Scalar<int32_t>(0), call.node.device);
  NodeBuilder taken = graph_.New("GatherV2", call.name, call.node.device);
  return {.tensor = graph_.Add(taken.Input(all).Input(call.tensor(1)).Input(axis))};
}

ExpandedValue ListExpander::SetItem(const Call& call) {
  TensorList list = call.any_list(0);
  list.packed = {};
  const auto index = graph_.ConstantAt(call.tensor(1));
  if (!index) call.Refuse(Code::kUnimplemented, "sets an element that data choose");
  if (call.inputs.size() < 3) call.Refuse(Code::kInvalidArgument, "has no element to set");
  const auto length = static_cast<int64_t>(list.items.size());
  const bool grows = call.node.BoolAttr("resize_if_index_out_of_bounds", false);
  if (*index < 0 || *index >= (grows ? kMaxListLength : length))
    call.Refuse(Code::kInvalidArgument, "sets an element beyond the list's end");
  if (*index >= length) list.items.resize(static_cast<size_t>(*index) + 1);
  list.items[static_cast<size_t>(*index)] = call.inputs[2];
  return Made(std::move(list));
}

ExpandedValue ListExpander::Resize(const Call& call) {
  TensorList list = call.list(0);
  const auto count = graph_.ConstantAt(call.tensor(1));
  if (!count) call.Refuse(Code::kUnimplemented, "gets as many elements as data say");
  if (*count < 0 || *count > kMaxListLength)
    call.Refuse(Code::kInvalidArgument, "gets less than no or too many elements");
  list.items.resize(static_cast<size_t>(*count));
  return Made(std::move(list));
}

ExpandedValue ListExpander::Select(const Call& call) {
  const Endpoint condition = call.tensor(0);
  if (call.inputs.size() < 3) call.Refuse(Code::kInvalidArgument, "has nothing to choose from");
  if (const auto known = graph_.ConstantAt(condition)) return call.inputs[*known != 0 ? 1 : 2];
  return Choose(condition, call.inputs[1], call.inputs[2], call.name, call.node.device);
}

ExpandedValue ListExpander::Choose(Endpoint condition, const ExpandedValue& yes, const ExpandedValue& no,
                                   const std::string& name, const std::string& device) {
  if (yes == no) return yes;
  if (yes.is_tensor() && no.is_tensor()) {
    NodeBuilder select = graph_.New("Select", name, device);
    return {.tensor = graph_.Add(select.Input(condition).Input(yes.tensor).Input(no.tensor))};
  }
  if (IsOptional(yes) && IsOptional(no))
    return {.choice = std::make_shared<const OptionalChoice>(OptionalChoice{condition, yes, no})};
  if (yes.list == nullptr || no.list == nullptr || yes.list->optional || no.list->optional)
    Throw(Code::kUnimplemented, "node '{}': data choose between values of different kinds", name);
  return ChooseList(condition, *yes.list, *no.list, name, device);
}

ExpandedValue ListExpander::LengthOf(const TensorList& list, const std::string& name,
                                     const std::string& device) {
  if (list.length.node.exists()) return {.tensor = list.length};
  const auto length = static_cast<int32_t>(list.items.size());
  return {.tensor = graph_.Constant(name, Tensor::Scalar(length), device)};
}

// An element that only the longer list has counts where that list is chosen.
ExpandedValue ListExpander::ChooseList(Endpoint condition, const TensorList& yes, const TensorList& no,
                                       const std::string& name, const std::string& device) {
  const bool yes_is_longer = yes.items.size() >= no.items.size();
  TensorList chosen = yes_is_longer ? yes : no;
  const size_t common = (yes_is_longer ? no : yes).items.size();
  bool same = true;
  for (size_t i = 0; i < common; ++i) {
    const ExpandedValue before = chosen.items[i];
    const std::string below = name + "/" + std::to_string(i);
    // An element that nobody has set is zeros.
    const auto set = [&](const ExpandedValue& item, const ExpandedValue& other) {
      if (!item.empty() || !other.is_tensor()) return item;
      NodeBuilder zeros = graph_.New("ZerosLike", below + "/unset", device);
      return ExpandedValue{.tensor = graph_.Add(zeros.Input(other.tensor))};
    };
    const ExpandedValue if_yes = set(yes.items[i], no.items[i]), if_no = set(no.items[i], yes.items[i]);
    chosen.items[i] = Choose(condition, if_yes, if_no, below, device);
    same = same && chosen.items[i] == before;
  }
  if (!same) chosen.packed = {};
  if (common == chosen.items.size() && yes.length == no.length) return Made(std::move(chosen));
  chosen.length = Choose(condition, LengthOf(yes, name + "/length", device),
                         LengthOf(no, name + "/length", device), name + "/length", device)
                      .tensor;
  return Made(std::move(chosen));
}

ExpandedValue ListExpander::Length(const Call& call) {
  const TensorList& list = call.any_list(0);
  return list.length.node.exists() ? Named(call, list.length) : LengthOf(list, call.name, call.node.device);
}

ExpandedValue ListExpander::ElementShape(const Call& call) {
  const Shape& shape = call.any_list(0).element_shape;
  const DataType type = call.node.TypeAttr("shape_type");
  if (type != DataType::kInt32 && type != DataType::kInt64)
    call.Refuse(Code::kInvalidArgument, "gives shapes as int32 or int64");
  Tensor dims(type, shape.known_rank() ? Shape{shape.rank()} : Shape{});
  for (int i = 0; i < dims.NumElements(); ++i) {
    const int64_t size = shape.known_rank() && IsExact(shape[i]) ? shape[i] : -1;
    if (type == DataType::kInt32) dims.data<int32_t>()[i] = static_cast<int32_t>(size);
    if (type == DataType::kInt64) dims.data<int64_t>()[i] = size;
  }
  return {.tensor = graph_.Constant(call.name, dims, call.node.device)};
}

ExpandedValues ListExpander::Expand(const Node& node, const std::string& name, const ExpandedValues& inputs) {
  using Maker = ExpandedValue (ListExpander::*)(const Call&);
  static constexpr std::pair<std::string_view, Maker> kMakers[] = {
      {"EmptyTensorList", &ListExpander::Reserve},
      {"TensorListReserve", &ListExpander::Reserve},
      {"TensorListFromTensor", &ListExpander::FromTensor},
      {"TensorListScatter", &ListExpander::Scatter},
      {"TensorListScatterIntoExistingList", &ListExpander::Scatter},
      {"TensorListScatterV2", &ListExpander::Scatter},
      {"TensorListSplit", &ListExpander::Split},
      {"TensorListConcatLists", &ListExpander::Joined},
      {"TensorListStack", &ListExpander::Stack},
      {"TensorListGather", &ListExpander::Gather},
      {"TensorArrayGatherV3", &ListExpander::Gather},
      {"TensorListGetItem", &ListExpander::GetItem},
      {"TensorArrayReadV3", &ListExpander::GetItem},
      {"TensorListSetItem", &ListExpander::SetItem},
      {"TensorListPushBack", &ListExpander::PushBack},
      {"TensorListResize", &ListExpander::Resize},
      {"TensorListLength", &ListExpander::Length},
      {"TensorListElementShape", &ListExpander::ElementShape},
      {"OptionalFromValue", &ListExpander::Optional},
      {"OptionalNone", &ListExpander::Optional},
      {"Select", &ListExpander::Select},
      {"SelectV2", &ListExpander::Select},
  };
  const Call call{node, name, inputs};
  const std::string_view op = node.op;
  for (const auto& [makes, maker] : kMakers) {
    if (op == makes) return {(this->*maker)(call)};
  }
  if (op == "TensorListPopBack") return PopBack(call);
  if (op == "TensorListConcat" || op == "TensorListConcatV2" || op == "TensorArrayConcatV3") {
    ExpandedValue lengths;
    const ExpandedValue joined = Concat(call, &lengths);
    return {joined, lengths};
  }
  if (op == "OptionalGetValue") return Components(call, inputs.empty() ? ExpandedValue{} : inputs[0]);
  if (op == "OptionalHasValue") return {HasValue(call, inputs.empty() ? ExpandedValue{} : inputs[0])};
  if (op == "Identity" || op == "IdentityN" || op == "StopGradient") return inputs;
  if (op == "AddN" && !inputs.empty()) return {Sum(call, inputs)};
  if (op == "ZerosLike" && !inputs.empty()) return {ZerosOf(call, inputs[0])};
  call.Refuse(Code::kUnimplemented, "does with lists of tensors what is not known here");
}

}  // namespace lanescope
