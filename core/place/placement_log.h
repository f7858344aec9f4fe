// SPDX-License-Identifier: Apache-2.0
// Where ops run, in the words of TensorFlow's releases.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/machine/machine.h"

namespace lanescope {

class KernelTable;

// The releases differ in what they say of a node, and in which order.
enum class LogStyle {
  kV0,  // "MatMul: /job:localhost/replica:0/task:0/gpu:0"
  kV1,  // "MatMul: (MatMul): /job:localhost/replica:0/task:0/device:GPU:0"
  kV2,  // "Executing op MatMul in device /job:localhost/replica:0/task:0/device:GPU:0"
};
// "v0", "v1", "v2".
std::optional<LogStyle> ParseLogStyle(std::string_view name);

std::string PlacementLogLine(const Node& node, const DeviceSpec& device, LogStyle style = LogStyle::kV1);

// In which order the first releases took nodes: of those whose inputs have been taken always the last one
// that became ready.
std::vector<NodeId> FirstReleasesOrder(const Graph& graph);

// Where an op goes that runs by itself, as ops of TensorFlow 2 outside of functions do; its inputs say
// nothing. Throws FailedPrecondition where its device is not there and it may go nowhere else, and
// InvalidArgument for what the placer refuses. `kernels` null: KernelTable::Global().
DeviceId PlaceByItself(const Node& node, const Machine& machine, bool soft_placement,
                       const KernelTable* kernels = nullptr);

}  // namespace lanescope
