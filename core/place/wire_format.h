// SPDX-License-Identifier: Apache-2.0
// The form of float32 tensors while they go from one task to another.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/machine/machine.h"
#include "core/place/placement.h"

namespace lanescope {

enum class WireFormat : uint8_t {
  kFloat32,   // as they are
  kBfloat16,  // the upper 16 bits of each element; the lower ones are cut off
  kInt8,      // a byte an element, and the largest magnitude as a float (core/graph/ops/wire.h)
};
std::string_view WireFormatName(WireFormat format);  // "float32", "bfloat16", "int8"
std::optional<WireFormat> ParseWireFormat(std::string_view name);

struct WiredGraph {
  Graph graph;
  Placement placement;
};

// The graph with every edge from task to task that carries 4 KiB of float32 or more in that format: a node
// beside the producer converts the tensor once, and one on every device that reads it converts it back. Both
// are on their task's host where the device is a physical GPU. As TensorFlow's partitioner does it, with the
// same nodes for bfloat16 (Cast with Truncate), so that executor and simulator know nothing of it.
//
// Writes the step that runs `fetches` alone: initial values of variables stay exact, as do the fetches,
// and references to variables that the step changes before they are read. int8 wants shapes that are known.
// Nodes keep their ids; those that are new stand behind them. `feeds` and `info` are the step's.
WiredGraph WriteWireFormat(const Graph& graph, const GraphInfo& info,
                           std::span<const std::pair<Endpoint, TensorInfo>> feeds,
                           std::span<const Endpoint> fetches, const Placement& placement,
                           const Machine& machine, WireFormat format);

}  // namespace lanescope
