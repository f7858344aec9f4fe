// SPDX-License-Identifier: Apache-2.0
// A node on lists of tensors, for the files that replace such nodes. Internal to core/expand.
#pragma once

#include "core/base/error.h"
#include "core/expand/tensor_lists.h"

namespace lanescope {

inline constexpr int64_t kMaxListLength = 1 << 16;

// A node on lists, and what its inputs are.
struct ListExpander::Call {
  const Node& node;
  const std::string& name;
  const ExpandedValues& inputs;

  [[noreturn]] void Refuse(Code code, std::string_view why) const {
    Throw(code, "node '{}' ({}): {}", name, node.op, why);
  }
  // A list of any length; `list` alone wants a known length.
  const TensorList& any_list(size_t i) const {
    if (i >= inputs.size() || inputs[i].list == nullptr || inputs[i].list->optional)
      Refuse(Code::kInvalidArgument, "takes a list of tensors that no op here has made");
    return *inputs[i].list;
  }
  const TensorList& list(size_t i) const {
    if (any_list(i).length.node.exists())
      Refuse(Code::kUnimplemented, "takes a list with as many elements as data say");
    return *inputs[i].list;
  }
  Endpoint tensor(size_t i) const {
    if (i >= inputs.size() || !inputs[i].is_tensor())
      Refuse(Code::kInvalidArgument, "takes a tensor where it is given a list");
    return inputs[i].tensor;
  }
};

}  // namespace lanescope
