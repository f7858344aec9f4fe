// SPDX-License-Identifier: Apache-2.0
// Collectives that the library of the devices runs (NCCL on CUDA GPUs): one launch a device, and all of them
// together, since each waits on its device for the others.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/id.h"
#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/machine/collective.h"
#include "core/machine/machine.h"
#include "core/place/placement.h"

namespace lanescope {

// On a node that is a part of one: its name, the same on all of its parts, and the devices of all parts as
// the graph names them, in the order of their ranks.
inline constexpr const char* kJointLaunch = "_lanescope_joint_launch";
inline constexpr const char* kJointDevices = "_lanescope_joint_devices";

// The collective of nodes that can be parts of one: all-reduce, all-gather, reduce-scatter.
std::optional<CollectiveKind> JointKindOf(const Node& node);
// Empty: the node is launched by itself.
std::string JointLaunchOf(const Node& node);

// Why the parts of the graph's joint launches cannot run where they are placed: they have to be on different
// physical GPUs, all of one task or joined (WithJoinedGpus); one line, empty where they can.
std::string WhyNoJointLaunches(const Graph& graph, const Placement& placement, const Machine& machine);

// The graph with copies and sums in place of its joint launches. `feeds`: what is known of them; `machine`:
// as in CollectiveOptions.
Graph WithoutJointLaunches(Graph graph, const std::vector<std::pair<Endpoint, TensorInfo>>& feeds,
                           const Machine* machine = nullptr);

// How long the collective takes that the node is a part of, from the last of its parts on, where each part
// reads `bytes`: by the formulas of the machine's cluster where all are in it, else around a ring of the
// machine's links, whose messages cost what those of collectives by copies do (CollectiveCost); but no copy
// or sum is a launch of its own. 0 for other nodes and devices that the machine does not have.
int64_t JointLaunchNs(const Machine& machine, const Node& node, int64_t bytes);

}  // namespace lanescope
