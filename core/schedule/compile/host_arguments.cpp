// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/compile/host_arguments.h"

#include "core/place/kernel_table.h"

namespace lanescope::compile {

const HostArguments& HostArgumentsTable::OnGpu(NodeId node, std::span<const DataType> inputs) {
  const OpTraits& op = draft_.op(node);
  if (!op.has_host_arguments) return kNoHostArguments;
  const size_t arguments = inputs.size() + draft_.info.outputs(node).size();
  if (!op.host_arguments_by_dtype || arguments > kMaxPacked) return other_ = Ask(node);
  const auto [found, added] = known_.try_emplace({&op, PackedTypes(node, inputs)});
  if (added) found->second = Ask(node);
  return found->second;
}

// The dtypes of at most kMaxPacked inputs and outputs, a byte each.
uint64_t HostArgumentsTable::PackedTypes(NodeId node, std::span<const DataType> inputs) const {
  uint64_t packed = 0;
  const auto add = [&](DataType type) { packed = packed << 8 | static_cast<uint8_t>(type); };
  for (const DataType type : inputs) add(type);
  for (const TensorInfo& output : draft_.info.outputs(node)) add(output.dtype);
  return packed;
}

HostArguments HostArgumentsTable::Ask(NodeId node) const {
  const Node& asked = draft_.node(node);
  return {KernelTable::Global().HostInputs(asked, "GPU"), KernelTable::Global().HostOutputs(asked, "GPU")};
}

}  // namespace lanescope::compile
