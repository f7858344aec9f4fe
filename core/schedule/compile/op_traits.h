// SPDX-License-Identifier: Apache-2.0
// Traits of an op for the passes. Found once per op name, so that a pass over many nodes compares no strings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/graph/op.h"

namespace lanescope::compile {

enum class OpClass : uint8_t { kOther, kPlaceholder, kConst, kNoOp, kReadVariable, kAssign };

struct OpTraits {
  const OpDef* def = nullptr;  // null for an op that is unknown here
  OpClass op_class = OpClass::kOther;
  bool keeps_shape = false;  // the output has the input's shape, whatever that turns out to be
  // Some kernel keeps inputs or outputs in host memory.
  bool has_host_arguments = false;
  // Which ones it keeps there is decided by the dtypes of the inputs and outputs alone.
  bool host_arguments_by_dtype = false;
  bool may_be_joint = false;  // its nodes can be parts of joint launches (JointKindOf)

  bool IsVariable() const { return def != nullptr && def->role == StateRole::kVariable; }
  bool IsUpdate() const { return def != nullptr && def->role == StateRole::kUpdate; }
  bool Updates(size_t input) const;
  // Computes and changes nothing: it runs only where its value is read or asked for.
  bool IsPure() const;
};

// Whether a node's outputs are all constant, so that it runs nowhere. A reader of one waits for
// its control inputs, and for what its constant inputs wait for.
bool IsFolded(const OpTraits& op, std::span<const TensorInfo> outputs);

// Refers to the names that it is asked for: they must outlive it. Not thread-safe.
class OpTraitsTable {
 public:
  // The result stays where it is for the table's life.
  const OpTraits& Of(const std::string& op);

 private:
  std::unordered_map<std::string_view, OpTraits> traits_;
};

}  // namespace lanescope::compile
