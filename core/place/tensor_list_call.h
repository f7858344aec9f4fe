// A node on lists of tensors, for the files that replace such nodes. Internal to core/place.
#pragma once

#include "core/base/error.h"
#include "core/place/tensor_lists.h"

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
  const TensorList& list(size_t i) const {
    if (i >= inputs.size() || inputs[i].list == nullptr)
      Refuse(Code::kInvalidArgument, "takes a list of tensors that no op here has made");
    return *inputs[i].list;
  }
  Endpoint tensor(size_t i) const {
    if (i >= inputs.size() || !inputs[i].is_tensor())
      Refuse(Code::kInvalidArgument, "takes a tensor where it is given a list");
    return inputs[i].tensor;
  }
};

}  // namespace lanescope
