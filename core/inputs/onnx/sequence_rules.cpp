// SPDX-License-Identifier: Apache-2.0
// Ops of sequences: lists of tensors that are known when the model is read. Nothing of a list is left in the
// graph.
#include <algorithm>

#include "core/base/error.h"
#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {
namespace {

// Tensors in one.
constexpr int64_t kLongestSequence = 20'000;

[[noreturn]] void RefuseLength() {
  Throw(Code::kResourceExhausted, "makes a sequence of more than {} tensors", kLongestSequence);
}

[[noreturn]] void RefuseComputed(std::string_view what) {
  Throw(Code::kUnimplemented,
        "has {} that depends on data, and lists of tensors are resolved when the model is read", what);
}

const OnnxValues& ElementsOf(const OnnxValue& value) {
  if (value.list() == nullptr) Throw(Code::kInvalidArgument, "takes a tensor where a sequence belongs");
  return *value.list();
}

// One position, counted from the end where it is negative, below `places`.
size_t SequencePosition(const OnnxValue& given, size_t elements, size_t places) {
  const std::optional<std::vector<int64_t>> known = ConstantInts(given);
  if (!known.has_value()) RefuseComputed("a position");
  const auto size = static_cast<int64_t>(elements);
  if (known->size() != 1 || known->front() < -size || known->front() >= static_cast<int64_t>(places))
    Throw(Code::kInvalidArgument, "has no position of a sequence of {} tensors", elements);
  return static_cast<size_t>(known->front() < 0 ? known->front() + size : known->front());
}

void RequireOneType(const OnnxValues& list) {
  for (const OnnxValue& each : list) {
    if (each.dtype() != list.front().dtype())
      Throw(Code::kInvalidArgument, "makes a sequence of {} and {}", DataTypeName(list.front().dtype()),
            DataTypeName(each.dtype()));
  }
}

OnnxValues EmptySequence(OnnxEmitter&, const OnnxNode&, const OnnxValues&) { return {OnnxValue::List({})}; }

OnnxValues SequenceOf(OnnxEmitter&, const OnnxNode&, const OnnxValues& inputs) {
  OnnxValues list;
  std::ranges::copy_if(inputs, std::back_inserter(list), &OnnxValue::exists);
  RequireOneType(list);
  return {OnnxValue::List(std::move(list))};
}

OnnxValues InsertIntoSequence(OnnxEmitter&, const OnnxNode&, const OnnxValues& inputs) {
  OnnxValues list = ElementsOf(inputs[0]);
  const size_t at =
      inputs[2].exists() ? SequencePosition(inputs[2], list.size(), list.size() + 1) : list.size();
  if (list.size() >= static_cast<size_t>(kLongestSequence)) RefuseLength();
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), inputs[1]);
  RequireOneType(list);
  return {OnnxValue::List(std::move(list))};
}

OnnxValues EraseFromSequence(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  OnnxValues list = ElementsOf(inputs[0]);
  const OnnxValue last = to.Int(-1);
  const size_t at = SequencePosition(inputs[1].exists() ? inputs[1] : last, list.size(), list.size());
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
  return {OnnxValue::List(std::move(list))};
}

OnnxValues SequenceElement(OnnxEmitter&, const OnnxNode&, const OnnxValues& inputs) {
  const OnnxValues& list = ElementsOf(inputs[0]);
  return {list[SequencePosition(inputs[1], list.size(), list.size())]};
}

OnnxValues SequenceSize(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  return {to.Constant(Tensor::Scalar(static_cast<int64_t>(ElementsOf(inputs[0]).size())))};
}

// One number is the size of every part, but of a shorter last one; several are those of the parts.
std::vector<int64_t> SequencePartSizes(const OnnxValue& split, int64_t size) {
  if (!split.exists())
    return std::vector<int64_t>(static_cast<size_t>(std::min(size, kLongestSequence + 1)), 1);
  const std::optional<std::vector<int64_t>> known = ConstantInts(split);
  if (!known.has_value()) RefuseComputed("a size of parts");
  if (split.rank() != 0) return *known;
  const int64_t each = known->front();
  if (each < 1) Throw(Code::kInvalidArgument, "splits a tensor into parts of size {}", each);
  std::vector<int64_t> sizes(static_cast<size_t>(std::min(size / each, kLongestSequence + 1)), each);
  if (size % each != 0) sizes.push_back(size % each);
  return sizes;
}

OnnxValues SplitIntoSequence(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank()) RefuseComputed("a tensor to split of a rank");
  const int64_t axis = Axis(node.Int("axis", 0), x.rank());
  const int64_t size = x.shape().dim(static_cast<int>(axis));
  if (!IsExact(size)) RefuseComputed("a number of parts");
  const std::vector<int64_t> sizes = SequencePartSizes(inputs[1], size);
  const auto count = static_cast<int64_t>(sizes.size());
  if (count > kLongestSequence) RefuseLength();
  if (count == 0) return {OnnxValue::List({})};
  if (!inputs[1].exists() && node.Int("keepdims", 1) == 0)
    return {OnnxValue::List(to.Nodes("Unpack", {x}, {{"num", count}, {"axis", axis}}))};
  if (count == 1 && sizes[0] == size) return {OnnxValue::List({x})};
  return {OnnxValue::List(to.Nodes("SplitV", {x, to.Ints(sizes), to.Int(axis)}, {{"num_split", count}}))};
}

// Along an axis that they have, or along a new one.
OnnxValues JoinedSequence(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  OnnxValues list = ElementsOf(inputs[0]);
  if (list.empty()) Throw(Code::kInvalidArgument, "joins a sequence of no tensors");
  const auto count = static_cast<int64_t>(list.size());
  if (!std::ranges::all_of(list, &OnnxValue::known_rank)) RefuseComputed("a tensor to join of a rank");
  const bool stacks = node.Int("new_axis", 0) != 0;
  const int64_t axis = Axis(node.Int("axis", 0), list[0].rank() + (stacks ? 1 : 0));
  if (stacks) return {to.Node("Pack", list, {{"N", count}, {"axis", axis}})};
  if (count == 1) return list;
  list.push_back(to.Int(axis));
  return {to.Node("ConcatV2", list, {{"N", count}})};
}

}  // namespace

void AddSequenceRules(OnnxRules* rules) {
  rules->emplace("SequenceEmpty", EmptySequence);
  rules->emplace("SequenceConstruct", SequenceOf);
  rules->emplace("SequenceInsert", InsertIntoSequence);
  rules->emplace("SequenceErase", EraseFromSequence);
  rules->emplace("SequenceAt", SequenceElement);
  rules->emplace("SequenceLength", SequenceSize);
  rules->emplace("SplitToSequence", SplitIntoSequence);
  rules->emplace("ConcatFromSequence", JoinedSequence);
}

}  // namespace lanescope
