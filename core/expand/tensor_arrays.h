// SPDX-License-Identifier: Apache-2.0
// TensorArray*V3 and Stack*V2, replaced by the elements of arrays and stacks. Internal to core/expand.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/expand/tensor_lists.h"

namespace lanescope {

// The array behind a handle. Nodes change it in the order in which they are expanded, which is one in which a
// step could run them: a node takes the flow of those whose changes it is to see.
struct TensorArray {
  TensorList list = {};
  bool is_stack = false;
  bool grows = false;
  // Set for a gradient: a second write to an element is added, unwritten ones are zero, in the shape of the
  // element of the array that it is the gradient of.
  TensorArray* gradient_of = nullptr;
  std::map<std::string, TensorArray*> gradients = {};  // by source
};

bool IsArrayOp(std::string_view op);
// Whether the op changes the array or the stack that it is given.
bool ChangesArray(std::string_view op);

// Results of a node on arrays or stacks: handles, flows (a constant: their order is kept already) and
// elements. Throws Unimplemented for sizes and places that data say, InvalidArgument for what the arrays do
// not have. Owns the arrays, since they may refer to each other and to themselves.
class ArrayExpander {
 public:
  ArrayExpander(GrowingGraph* graph, ListExpander* lists) : graph_(*graph), lists_(*lists) {}

  // `taken`: where data say whether the node runs at all, the tensor that says so.
  ExpandedValues Expand(const Node& node, const std::string& name, const ExpandedValues& inputs,
                        const std::optional<Endpoint>& taken);

 private:
  struct Call;
  ExpandedValue Make(const Call& call);
  ExpandedValue Gradient(const Call& call);
  void Write(const Call& call, int64_t index, const ExpandedValue& value);
  void Scatter(const Call& call);
  void Split(const Call& call);
  ExpandedValues Read(const Call& call);
  ExpandedValue Flow(const Call& call);
  std::vector<int64_t> Numbers(const Call& call, size_t input) const;

  GrowingGraph& graph_;
  ListExpander& lists_;
  std::deque<TensorArray> arrays_ = {};
  ExpandedValue flow_ = {};
};

}  // namespace lanescope
