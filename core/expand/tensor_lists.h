// SPDX-License-Identifier: Apache-2.0
// Lists of tensors (TensorList*) and optionals, replaced by their elements. Internal to core/expand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/expand/growing_graph.h"

namespace lanescope {

// EmptyTensorList, TensorListReserve, TensorListSetItem ..., OptionalFromValue ...
bool IsListOp(std::string_view op);
// Whether some of the values are lists or arrays.
bool HasLists(const ExpandedValues& values);

bool IsOptional(const ExpandedValue& value);

// Results of a node of the graph before that makes or takes lists: an op on lists, or AddN, ZerosLike and
// the like of lists; of ops on arrays those that read, given the array as a list. Nodes that it needs are
// called "NAME/...", and the one that has the node's output NAME. Throws Unimplemented for other ops and for
// lists whose length or index depends on data, InvalidArgument for what the lists do not have.
class ListExpander {
 public:
  explicit ListExpander(GrowingGraph* graph) : graph_(*graph) {}
  ExpandedValues Expand(const Node& node, const std::string& name, const ExpandedValues& inputs);
  // The one of two values of a variable that the condition says.
  ExpandedValue Choose(Endpoint condition, const ExpandedValue& yes, const ExpandedValue& no,
                       const std::string& name, const std::string& device);

 private:
  struct Call;
  ExpandedValue Reserve(const Call& call);
  ExpandedValue FromTensor(const Call& call);
  ExpandedValue Split(const Call& call);
  ExpandedValue Scatter(const Call& call);
  ExpandedValue Joined(const Call& call);
  ExpandedValue Stack(const Call& call);
  ExpandedValue Concat(const Call& call, ExpandedValue* lengths);
  ExpandedValue Gather(const Call& call);
  ExpandedValue GetItem(const Call& call);
  ExpandedValue SetItem(const Call& call);
  ExpandedValue PushBack(const Call& call);
  void AppendToMany(const Call& call, const ExpandedValue& last, TensorList* list);
  ExpandedValues PopBack(const Call& call);
  ExpandedValues PopBackOfMany(const Call& call, const TensorList& list);
  ExpandedValue Resize(const Call& call);
  ExpandedValue Length(const Call& call);
  ExpandedValue ElementShape(const Call& call);
  ExpandedValue Sum(const Call& call, const ExpandedValues& terms);
  ExpandedValue SumOfLists(const Call& call, const ExpandedValues& terms);
  ExpandedValue SumOfOptionals(const Call& call, const ExpandedValues& terms);
  ExpandedValue ZerosOf(const Call& call, const ExpandedValue& value);
  ExpandedValue Select(const Call& call);
  ExpandedValue LengthOf(const TensorList& list, const std::string& name, const std::string& device);
  ExpandedValue ChooseList(Endpoint condition, const TensorList& yes, const TensorList& no,
                           const std::string& name, const std::string& device);
  ExpandedValue Optional(const Call& call);
  ExpandedValue HasValue(const Call& call, const ExpandedValue& optional);
  bool Fits(const ExpandedValue& optional, const std::vector<DataType>& types) const;
  ExpandedValues Components(const Call& call, const ExpandedValue& optional);

  // The element, zeros where nobody has set it.
  Endpoint Element(const Call& call, const TensorList& list, size_t index, const Shape& shape);
  Endpoint Pack(const Call& call, const std::vector<Endpoint>& elements, const TensorList& list,
                const Shape& shape);
  ExpandedValue Named(const Call& call, Endpoint tensor);
  // The rows of a tensor, one after the other.
  std::vector<Endpoint> RowsOf(const Call& call, Endpoint tensor);
  // An integer tensor that does not depend on data.
  std::vector<int64_t> NumbersOf(const Call& call, size_t input) const;
  ExpandedValue Made(TensorList list);
  Shape ShapeOf(const Call& call, size_t input) const;

  class Depth;

  GrowingGraph& graph_;
  size_t copied_ = 0;  // elements of lists so far
  int depth_ = 0;      // of lists in lists that are being walked
};

}  // namespace lanescope
