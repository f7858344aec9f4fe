// SPDX-License-Identifier: Apache-2.0
// Sums of lists of tensors and of optionals, element by element, and what is zero like them: gradients that
// meet.
#include <algorithm>

#include "core/expand/tensor_list_call.h"

namespace lanescope {
namespace {

constexpr const char* kNoList = "takes a list of tensors that no op here has made";

}  // namespace

// Lists in lists are walked by recursion.
class ListExpander::Depth {
 public:
  Depth(const Call& call, int* depth) : depth_(*depth) {
    if (depth_ >= kMost) call.Refuse(Code::kUnimplemented, "takes lists that are nested too deeply");
    ++depth_;
  }
  ~Depth() { --depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  static constexpr int kMost = 256;
  int& depth_;
};

// Zeros keep nothing of the tensors in lists but their shape: unset ones are zeros. Optionals have
// components.
ExpandedValue ListExpander::ZerosOf(const Call& call, const ExpandedValue& value) {
  if (value.choice != nullptr) {
    const OptionalChoice& choice = *value.choice;
    const ExpandedValue yes = ZerosOf(call, choice.yes), no = ZerosOf(call, choice.no);
    return {.choice = std::make_shared<const OptionalChoice>(OptionalChoice{choice.condition, yes, no})};
  }
  if (value.list == nullptr) call.Refuse(Code::kInvalidArgument, kNoList);
  const Depth depth(call, &depth_);
  TensorList zeros = *value.list;
  zeros.packed = {};
  for (ExpandedValue& item : zeros.items) {
    if (item.is_list()) {
      item = ZerosOf(call, item);
    } else if (item.is_tensor() && zeros.optional) {
      item.tensor = graph_.Add(graph_.New("ZerosLike", call.name, call.node.device).Input(item.tensor));
    } else if (item.is_tensor()) {
      zeros.element_shape = MergeShapes(zeros.element_shape, graph_.info(item.tensor).shape);
      item = {};
    }
  }
  return Made(std::move(zeros));
}

// Unset elements count as zeros.
ExpandedValue ListExpander::Sum(const Call& call, const ExpandedValues& given) {
  ExpandedValues terms;
  std::ranges::copy_if(given, std::back_inserter(terms),
                       [](const ExpandedValue& term) { return !term.empty(); });
  if (terms.size() < 2) return terms.empty() ? ExpandedValue{} : terms[0];
  if (std::ranges::all_of(terms, &ExpandedValue::is_tensor)) {
    std::vector<Endpoint> tensors;
    for (const ExpandedValue& term : terms) tensors.push_back(term.tensor);
    return {.tensor = graph_.Add(graph_.New("AddN", call.name, call.node.device).Inputs(tensors))};
  }
  const Depth depth(call, &depth_);
  if (std::ranges::all_of(terms, IsOptional)) return SumOfOptionals(call, terms);
  return SumOfLists(call, terms);
}

ExpandedValue ListExpander::SumOfLists(const Call& call, const ExpandedValues& terms) {
  for (const ExpandedValue& term : terms) {
    if (term.list == nullptr || term.list->optional) call.Refuse(Code::kInvalidArgument, kNoList);
    if (term.list->length.node.exists())
      call.Refuse(Code::kUnimplemented, "takes a list with as many elements as data say");
    if (term.list->items.size() != terms[0].list->items.size())
      call.Refuse(Code::kInvalidArgument, "adds lists of different lengths");
  }
  TensorList sum = *terms[0].list;
  sum.packed = {};
  for (size_t i = 0; i < sum.items.size(); ++i) {
    ExpandedValues items;
    for (const ExpandedValue& term : terms) items.push_back(term.list->items[i]);
    sum.items[i] = Sum(call, items);
  }
  return Made(std::move(sum));
}

// None where one of them has none. Those that one condition chooses are added on either side of it.
ExpandedValue ListExpander::SumOfOptionals(const Call& call, const ExpandedValues& terms) {
  const auto chosen =
      std::ranges::find_if(terms, [](const ExpandedValue& term) { return term.choice != nullptr; });
  if (chosen != terms.end()) {
    const Endpoint condition = chosen->choice->condition;
    const auto side = [&](bool yes) {
      ExpandedValues own = terms;
      for (ExpandedValue& term : own) {
        const std::shared_ptr<const OptionalChoice> choice = term.choice;
        if (choice == nullptr) continue;
        if (choice->condition != condition)
          call.Refuse(Code::kUnimplemented, "adds optionals that several conditions choose");
        term = yes ? choice->yes : choice->no;
      }
      return SumOfOptionals(call, own);
    };
    const ExpandedValue yes = side(true), no = side(false);
    return {.choice = std::make_shared<const OptionalChoice>(OptionalChoice{condition, yes, no})};
  }
  TensorList sum = *terms[0].list;
  for (const ExpandedValue& term : terms) {
    if (term.list->items.empty()) return term;
    if (term.list->items.size() != sum.items.size())
      call.Refuse(Code::kInvalidArgument, "adds optionals of different components");
  }
  for (size_t i = 0; i < sum.items.size(); ++i) {
    ExpandedValues components;
    for (const ExpandedValue& term : terms) components.push_back(term.list->items[i]);
    sum.items[i] = Sum(call, components);
  }
  return Made(std::move(sum));
}

}  // namespace lanescope
