// SPDX-License-Identifier: Apache-2.0
// Walks the arguments of a node by its op's signature: which flat input or output number belongs to which
// argument, and of which type it is.
#pragma once

#include <vector>

#include "core/base/error.h"
#include "core/graph/op.h"

namespace lanescope {

// More tensors than any real argument list holds; a hostile attribute is refused before anything is sized by
// it.
inline constexpr int64_t kMaxTensorsOfArg = 1 << 20;

// Number of tensors of one argument. Throws InvalidArgument when its attribute is missing or absurd.
inline int64_t TensorsOfArg(const ArgDef& arg, const Node& node) {
  int64_t count = 1;
  if (!arg.type_list_attr.empty()) {
    count = static_cast<int64_t>(node.TypeListAttr(arg.type_list_attr).size());
  } else if (!arg.number_attr.empty()) {
    count = node.IntAttr(arg.number_attr);
  }
  if (count < 0 || count > kMaxTensorsOfArg) {
    Throw(Code::kInvalidArgument, "node '{}': the argument '{}' has {} tensors; at most {} are accepted",
          node.name, arg.name, count, kMaxTensorsOfArg);
  }
  return count;
}

// Calls visit(flat number, argument, element type without the reference mark).
template <typename Visit>
void ForEachArg(const std::vector<ArgDef>& args, const Node& node, Visit visit) {
  int flat = 0;
  for (const ArgDef& arg : args) {
    const int64_t count = TensorsOfArg(arg, node);
    for (int64_t i = 0; i < count; ++i) {
      DataType type = arg.type;
      if (!arg.type_attr.empty()) type = node.TypeAttr(arg.type_attr, DataType::kInvalid);
      if (!arg.type_list_attr.empty()) {
        type = node.TypeListAttr(arg.type_list_attr)[static_cast<size_t>(i)];
      }
      visit(flat++, arg, type);
    }
  }
}

}  // namespace lanescope
