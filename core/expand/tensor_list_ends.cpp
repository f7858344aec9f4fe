// SPDX-License-Identifier: Apache-2.0
// Appends to lists of tensors and takes off their ends, also where data say where those are.
#include "core/expand/tensor_list_call.h"

namespace lanescope {

ExpandedValue ListExpander::PushBack(const Call& call) {
  TensorList list = call.any_list(0);
  if (call.inputs.size() < 2) call.Refuse(Code::kInvalidArgument, "has no element to append");
  const ExpandedValue& last = call.inputs[1];
  if (list.length.node.exists()) AppendToMany(call, last, &list);
  list.items.push_back(last);
  return Made(std::move(list));
}

// Data say behind which item.
void ListExpander::AppendToMany(const Call& call, const ExpandedValue& last, TensorList* list) {
  const std::string& device = call.node.device;
  const auto number = [&](int64_t value) {
    return graph_.Constant(call.name + "/number", Tensor::Scalar(static_cast<int32_t>(value)), device);
  };
  for (size_t i = 0; i < list->items.size(); ++i) {
    if (list->items[i].empty()) {
      list->items[i] = last;
      continue;
    }
    NodeBuilder is_last = graph_.New("Equal", call.name + "/is_last", device);
    const Endpoint here = graph_.Add(is_last.Input(list->length).Input(number(static_cast<int64_t>(i))));
    list->items[i] = Choose(here, last, list->items[i], call.name + "/" + std::to_string(i), device);
  }
  list->packed = {};
  list->length =
      graph_.Add(graph_.New("AddV2", call.name + "/length", device).Input(list->length).Input(number(1)));
}

ExpandedValues ListExpander::PopBack(const Call& call) {
  TensorList list = call.any_list(0);
  if (list.items.empty()) call.Refuse(Code::kInvalidArgument, "takes the last element of an empty list");
  if (list.length.node.exists()) return PopBackOfMany(call, list);
  const ExpandedValue last = list.items.back();
  const ExpandedValue item =
      last.is_list() ? last
                     : ExpandedValue{.tensor = Element(call, list, list.items.size() - 1, ShapeOf(call, 1))};
  list.items.pop_back();
  return {Made(std::move(list)), item};
}

// Data say which item is the last. Where they say that there is none, nobody uses what comes out.
ExpandedValues ListExpander::PopBackOfMany(const Call& call, const TensorList& list) {
  TensorList left = list;
  const std::string& device = call.node.device;
  if (!left.packed.node.exists()) {
    std::vector<Endpoint> elements;
    for (size_t i = 0; i < list.items.size(); ++i)
      elements.push_back(Element(call, list, i, ShapeOf(call, 1)));
    left.packed = graph_.Add(
        graph_.New("Pack", call.name + "/elements", device).Inputs(elements).Attr("axis", int64_t{0}));
  }
  const auto number = [&](int32_t value) {
    return graph_.Constant(call.name + "/number", Tensor::Scalar(value), device);
  };
  left.length =
      graph_.Add(graph_.New("Sub", call.name + "/length", device).Input(list.length).Input(number(1)));
  const Endpoint index =
      graph_.Add(graph_.New("Maximum", call.name + "/index", device).Input(left.length).Input(number(0)));
  const Endpoint item =
      graph_.Add(graph_.New("GatherV2", call.name, device).Input(left.packed).Input(index).Input(number(0)));
  left.items.pop_back();
  return {Made(std::move(left)), {.tensor = item}};
}

}  // namespace lanescope
