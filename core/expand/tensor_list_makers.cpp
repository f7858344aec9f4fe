// SPDX-License-Identifier: Apache-2.0
// Lists of tensors that are made of tensors, and of nothing.
#include <algorithm>

#include "core/expand/tensor_list_call.h"

namespace lanescope {

ExpandedValue ListExpander::Reserve(const Call& call) {
  TensorList list;
  list.dtype = call.node.TypeAttr("element_dtype");
  list.element_shape = ShapeOf(call, 0);
  if (call.node.op == "TensorListReserve") {
    const auto count = graph_.ConstantAt(call.tensor(1));
    if (!count) call.Refuse(Code::kUnimplemented, "has as many elements as data say");
    if (*count < 0 || *count > kMaxListLength)
      call.Refuse(Code::kInvalidArgument, "has less than no or too many elements");
    list.items.resize(static_cast<size_t>(*count));
  }
  return Made(std::move(list));
}

std::vector<Endpoint> ListExpander::RowsOf(const Call& call, Endpoint tensor) {
  const Shape& shape = graph_.info(tensor).shape;
  if (!shape.known_rank() || shape.rank() == 0 || !IsExact(shape[0]))
    call.Refuse(Code::kUnimplemented, "makes a list of a tensor whose first size depends on data");
  if (shape[0] > kMaxListLength) call.Refuse(Code::kInvalidArgument, "makes a list with too many elements");
  std::vector<Endpoint> rows;
  if (shape[0] == 0) return rows;
  const auto count = static_cast<int>(shape[0]);
  const Endpoint parts = graph_.Add(graph_.New("Unpack", call.name, call.node.device)
                                        .Input(tensor)
                                        .Attr("num", int64_t{count})
                                        .Attr("axis", int64_t{0}));
  for (int i = 0; i < count; ++i) rows.push_back({parts.node, i});
  return rows;
}

std::vector<int64_t> ListExpander::NumbersOf(const Call& call, size_t input) const {
  const TensorInfo& info = graph_.info(call.tensor(input));
  if (info.value == nullptr) call.Refuse(Code::kUnimplemented, "takes numbers of elements that data say");
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < info.value->NumElements(); ++i) numbers.push_back(info.value->IntAt(i));
  return numbers;
}

ExpandedValue ListExpander::FromTensor(const Call& call) {
  TensorList list;
  list.dtype = call.node.TypeAttr("element_dtype");
  list.element_shape = ShapeOf(call, 1);
  for (const Endpoint row : RowsOf(call, call.tensor(0))) list.items.push_back({.tensor = row});
  return Made(std::move(list));
}

// Rows of a tensor at given places of a new list, or of one that there is. It is as long as is said, or else
// as the places ask for.
ExpandedValue ListExpander::Scatter(const Call& call) {
  const bool into = call.node.op == "TensorListScatterIntoExistingList";
  const size_t first = into ? 1 : 0;
  TensorList list;
  if (into) {
    list = call.list(0);
  } else {
    list.dtype = call.node.TypeAttr("element_dtype");
    list.element_shape = ShapeOf(call, 2);
  }
  const std::vector<int64_t> indices = NumbersOf(call, first + 1);
  int64_t length = into ? static_cast<int64_t>(list.items.size()) : 0, most = kMaxListLength;
  if (call.node.op == "TensorListScatterV2") {
    const auto count = graph_.ConstantAt(call.tensor(3));
    if (!count) call.Refuse(Code::kUnimplemented, "has as many elements as data say");
    if (*count < -1) call.Refuse(Code::kInvalidArgument, "expects num_elements >= -1");
    if (*count >= 0) length = most = *count;
  }
  for (const int64_t index : indices) {
    if (index < 0 || index >= most)
      call.Refuse(Code::kInvalidArgument, "sets an element beyond the list's ends");
    length = std::max(length, index + 1);
  }
  if (length > kMaxListLength) call.Refuse(Code::kInvalidArgument, "makes a list with too many elements");
  const std::vector<Endpoint> rows = RowsOf(call, call.tensor(first));
  if (rows.size() != indices.size())
    call.Refuse(Code::kInvalidArgument, "has another number of indices than of rows");
  list.items.resize(static_cast<size_t>(length));
  for (size_t i = 0; i < rows.size(); ++i) list.items[static_cast<size_t>(indices[i])] = {.tensor = rows[i]};
  return Made(std::move(list));
}

// So many rows of a tensor an element.
ExpandedValue ListExpander::Split(const Call& call) {
  TensorList list;
  list.dtype = call.node.TypeAttr("element_dtype");
  list.element_shape = ShapeOf(call, 1);
  const std::vector<int64_t> lengths = NumbersOf(call, 2);
  if (lengths.empty()) return Made(std::move(list));
  if (lengths.size() > static_cast<size_t>(kMaxListLength))
    call.Refuse(Code::kInvalidArgument, "makes a list with too many elements");
  const std::string& device = call.node.device;
  const Endpoint axis = graph_.Constant(call.name + "/axis", Tensor::Scalar<int32_t>(0), device);
  const Endpoint parts = graph_.Add(graph_.New("SplitV", call.name, device)
                                        .Input(call.tensor(0))
                                        .Input(call.tensor(2))
                                        .Input(axis)
                                        .Attr("num_split", static_cast<int64_t>(lengths.size())));
  for (int i = 0; i < static_cast<int>(lengths.size()); ++i)
    list.items.push_back({.tensor = {parts.node, i}});
  return Made(std::move(list));
}

ExpandedValue ListExpander::Joined(const Call& call) {
  TensorList list = call.list(0);
  const TensorList& more = call.list(1);
  list.element_shape = MergeShapes(list.element_shape, more.element_shape);
  list.items.insert(list.items.end(), more.items.begin(), more.items.end());
  return Made(std::move(list));
}

}  // namespace lanescope
