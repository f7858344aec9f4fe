// SPDX-License-Identifier: Apache-2.0
// Optionals: what a branch hands out to the branch of its gradient. One that data choose is both, until
// somebody on one side of that condition takes its components.
#include "core/expand/tensor_list_call.h"

namespace lanescope {

ExpandedValue ListExpander::Optional(const Call& call) {
  TensorList components;
  components.optional = true;
  if (call.node.op == "OptionalFromValue") {
    if (call.inputs.empty()) call.Refuse(Code::kInvalidArgument, "has no component");
    components.items = call.inputs;
  }
  return Made(std::move(components));
}

bool ListExpander::Fits(const ExpandedValue& optional, const std::vector<DataType>& types) const {
  if (optional.choice != nullptr)
    return Fits(optional.choice->yes, types) || Fits(optional.choice->no, types);
  if (optional.list == nullptr || optional.list->items.size() != types.size()) return false;
  for (size_t i = 0; i < types.size(); ++i) {
    const ExpandedValue& item = optional.list->items[i];
    const DataType type = item.is_tensor() ? graph_.info(item.tensor).dtype : DataType::kVariant;
    if (type != types[i]) return false;
  }
  return true;
}

ExpandedValues ListExpander::Components(const Call& call, const ExpandedValue& optional) {
  const std::vector<DataType>& types = call.node.TypeListAttr("output_types");
  if (!Fits(optional, types))
    call.Refuse(Code::kInvalidArgument, "takes components of an optional that has none of these types");
  if (optional.list != nullptr) return optional.list->items;
  const OptionalChoice& choice = *optional.choice;
  if (!Fits(choice.no, types)) return Components(call, choice.yes);
  if (!Fits(choice.yes, types)) return Components(call, choice.no);
  const ExpandedValues yes = Components(call, choice.yes), no = Components(call, choice.no);
  ExpandedValues chosen;
  for (size_t i = 0; i < yes.size(); ++i) {
    chosen.push_back(
        Choose(choice.condition, yes[i], no[i], call.name + "/" + std::to_string(i), call.node.device));
  }
  return chosen;
}

ExpandedValue ListExpander::HasValue(const Call& call, const ExpandedValue& optional) {
  if (optional.choice == nullptr) {
    if (optional.list == nullptr || !optional.list->optional)
      call.Refuse(Code::kInvalidArgument, "takes an optional that no op here has made");
    return {.tensor =
                graph_.Constant(call.name, Tensor::Scalar(!optional.list->items.empty()), call.node.device)};
  }
  const OptionalChoice& choice = *optional.choice;
  return Choose(choice.condition, HasValue(call, choice.yes), HasValue(call, choice.no), call.name,
                call.node.device);
}

bool IsOptional(const ExpandedValue& value) {
  return value.choice != nullptr || (value.list != nullptr && value.list->optional);
}

}  // namespace lanescope
