// SPDX-License-Identifier: Apache-2.0
// Which nodes may share a launch, and what such a launch is called and does. Fused launches are made by
// core/schedule/compile/fuse.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/machine/machine.h"
#include "core/schedule/schedule.h"

namespace lanescope {

// A node can be these to a launch that runs several.
enum class FusionRole : uint8_t {
  kNone,         // runs in a launch of its own
  kElementWise,  // element i of its output depends on element i of its inputs, once these are broadcast
  kRowWise,      // a softmax: a row of its output, the last dimension, depends on that row of its input
  kReduction,    // a sum or the like; fits where each element of its output depends on one row of its input
  kAssign,       // writes a variable that its producer has written already: nothing is left to do
  kUpdate,       // a step of an optimizer on one variable: element-wise on it, its slots and its gradient
  kProduct,      // of batches of matrices: makes rows of them, or reads them row by row (row_products.h)
};
// Whether a launch of several nodes runs it row by row, or block by block, with those that it reads or
// serves.
constexpr bool RunsInBlocks(FusionRole role) {
  return role == FusionRole::kElementWise || role == FusionRole::kRowWise || role == FusionRole::kReduction ||
         role == FusionRole::kProduct;
}
// By op and attributes. An assignment has its role only where the compiler lets the producer write through.
FusionRole FusionRoleOf(const Node& node);

// Which input of an op of role kUpdate is the gradient. Variable and slots are the first ones.
int GradientInput(std::string_view op);

// Whether the loops can index the inputs: each has as many elements as the output, or is broadcast as in
// BroadcastShapes. All shapes exact.
bool CanIndex(const Node& node, std::span<const Shape> inputs, const Shape& output);

// How many elements in a row share one element of an input that is broadcast: of [4,1] to [4,6] 6. 0 where
// that is not what the broadcast is. Exact shapes.
int64_t RowRun(const Shape& input, const Shape& output);

// Devices of host memory run fused launches, and modelled ones are taken to. Physical GPUs do where their
// kernels can be made in this process: `runs` says so, once there are such GPUs. Thread-safe.
bool RunsFused(const DeviceSpec& device);
void SetHardwareRunsFused(bool (*runs)());
// Whether kernels for physical GPUs can be made of the node: its arithmetic is one of the functors that
// these are made of (exec/functors), and needs no check of its operands.
bool RunsFusedOnHardware(const Node& node, DataType dtype);

// By node of the launch: a number that nodes have in common if one reads what another makes, over any
// others of these. An update has that of what makes its gradient, and of what an assignment before it has
// written into its variable; otherwise it shares it with nobody, as an assignment does.
//
// Such nodes have results of one size, or of two: rows of n elements, and one element for each of the rows.
// Products of a launch that read such rows may have results of any size; nobody reads these there.
std::vector<int> BlockGroups(const Graph& graph, std::span<const FusedNode> nodes);

// The op of a launch, or "fused Mul+AddV2+Tanh (3)" with the number of nodes. At most six ops are
// named, the others by their checksum; a run of one op is named once: "fused ResourceApplyAdam*77 (77)".
std::string LaunchOp(const Graph& graph, const Schedule& schedule, const Command& command);
// The op of a launch of several nodes in the signature that cost models know it by; "" of another launch.
std::string FusedOpOf(std::string_view signature);
// The name of its node, or the names of all with + between; at most six, then how many more.
std::string LaunchName(const Graph& graph, const Schedule& schedule, const Command& command);

// Work of a launch: of several nodes their FLOPs together, and the bytes of what the command reads and
// writes.
OpWork LaunchWork(const Graph& graph, const GraphInfo& info, const Schedule& schedule,
                  const Command& command);

// The launches of a step, and how many bytes they read and write.
struct LaunchTraffic {
  int64_t launches = 0;       // that do something: without NoOps
  int64_t bytes = 0;          // of all launches
  int64_t product_bytes = 0;  // of matrix products and convolutions, which fusion does not touch
  int64_t other_bytes() const { return bytes - product_bytes; }
};
LaunchTraffic TrafficOf(const Graph& graph, const GraphInfo& info, const Schedule& schedule);

}  // namespace lanescope
