// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/step_nodes.h"

#include <algorithm>
#include <limits>

namespace lanescope {
namespace {

// The largest of the numbers that a collective is known by: its size, keys of group and instance.
int64_t LargestNumber(const Graph& graph, const Node& node) {
  int64_t largest = std::max(node.IntAttr("group_key", 0), node.IntAttr("instance_key", 0));
  for (const Endpoint& input : node.inputs) {
    const Node& constant = graph.node(input.node);
    if (constant.op != "Const" || constant.FindAttr("value") == nullptr) continue;
    const Tensor& value = constant.GetTensorAttr("value");
    if (value.dtype() == DataType::kInt32 && value.NumElements() == 1)
      largest = std::max(largest, value.IntAt(0));
  }
  return largest;
}

}  // namespace

StepNodes::StepNodes(Graph* graph, const Graph& read) : graph_(graph) {
  for (const Node& node : read.nodes()) {
    if (!node.op.starts_with("Collective")) continue;
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 2;
    instances_ = std::max(instances_, static_cast<int32_t>(std::min(LargestNumber(read, node), kMost)));
  }
}

}  // namespace lanescope
