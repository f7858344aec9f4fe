// SPDX-License-Identifier: Apache-2.0
// TensorFlow's placer (V1 rules): device fields, default device, kernel availability, colocation, reference
// and resource edges.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/machine/machine.h"
#include "core/place/placement.h"

namespace lanescope {

class KernelTable;

struct PlacerOptions {
  bool soft_placement = true;
  const KernelTable* kernels = nullptr;  // null: KernelTable::Global()
  // Where reference and resource arguments are looked up; null: OpRegistry::Global().
  const OpRegistry* registry = nullptr;
  DeviceId default_device;
  // Already assigned full device names by node id; empty string: none. May be empty altogether.
  IdVector<NodeId, std::string> assigned;
  // Device specifications by node id that stand in for the nodes' device fields. May be empty altogether.
  IdVector<NodeId, std::string> requested;
  // Called once per node in placement order (pass 1 in node-id order, then generators): log_device_placement.
  std::function<void(NodeId node, DeviceId device)> log;
};

// Places every node. Throws with TensorFlow's codes and texts (InvalidArgument, Internal,
// FailedPrecondition).
Placement PlaceGraph(const Graph& graph, const Machine& machine, const PlacerOptions& options);

// Nodes that must share a device, by reference and resource edges and loc:@ attributes: a group number per
// node.
IdVector<NodeId, NodeId> ColocationGroups(const Graph& graph, const OpRegistry* registry = nullptr);
// Device numbers that may run the node by the kernel table, best first (GPU before CPU, then name).
std::vector<DeviceId> FeasibleDevices(const Node& node, const Machine& machine, const KernelTable& kernels);

}  // namespace lanescope
