// SPDX-License-Identifier: Apache-2.0
// Which device runs each node, and optionally how urgent it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/machine/machine.h"

namespace lanescope {

struct Placement {
  IdVector<NodeId, DeviceId> device;  // by node id
  IdVector<NodeId, int> priority;     // by node id, larger first; empty: all equal
};

// JSON {"nodes": {NAME: {"device": D, "priority": P}}}. A node takes those along that must share its device;
// all others that the file does not name keep the device of `base`. Throws InvalidArgument for an unknown
// node or device, a device without a kernel, and where two that must share a device are given different ones.
Placement ParsePlacement(std::string_view json, const Graph& graph, const Machine& machine,
                         const Placement& base);
Placement ReadPlacement(const std::string& path, const Graph& graph, const Machine& machine,
                        const Placement& base);
std::string PlacementToJson(const Placement& placement, const Graph& graph, const Machine& machine);

}  // namespace lanescope
