// SPDX-License-Identifier: Apache-2.0
// The nodes of a fused launch on host memory, and which of them run together. Internal to exec/run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/schedule/fusion.h"
#include "exec/device/kernel.h"
#include "exec/kernels/broadcast.h"
#include "exec/kernels/element_wise.h"
#include "exec/run/row_product_kernel.h"

namespace lanescope::exec {

// Elements of a block, about: of floats 64 KiB a result: short enough for the second-level cache, and long
// against what calling a kernel costs.
inline constexpr int64_t kFusedBlock = 16384;
// Where all of a unit's nodes are loops, which cost next to nothing to call: its blocks fit the first-level
// cache.
inline constexpr int64_t kLoopBlock = 4096;

struct FusedInput {
  DataType dtype = DataType::kInvalid;
  Shape shape;  // of all of it
  // How one that is broadcast belongs to the elements of the result.
  std::optional<BroadcastPlan> broadcast;
};

struct FusedMember {
  FusedNode node;
  std::vector<FusedInput> inputs;
  FusionRole role = FusionRole::kNone;
  std::unique_ptr<Kernel> kernel;  // of a node that runs in blocks: any number of threads are in it at once
  std::optional<RowProductKernel> product;  // in its place
  ElementLoop loop;                         // of the kernel, if that is all
  int slot = -1;           // of the working memory: where a block of its result is, if it is nowhere else
  int lies_at = -1;        // the member in whose output a block of its result is, instead
  bool planned = false;    // its output is memory that no other step sees
  bool one_a_row = false;  // its result has an element for each row
  bool in_place = false;   // its result may lie where an operand was
  bool leaves = false;     // a product of what the blocks hold: its result lies in memory alone
  size_t updated = 0;      // of an update: its first inputs are so many variables that it writes
  size_t gradient = 0;     // which input is the gradient
};

// Nodes that run together: those that run in blocks and read each other's results, or one other node.
struct FusedUnit {
  bool in_blocks = false;
  std::vector<size_t> members;
  int64_t elements = 0;         // of a result
  int64_t run = 1;              // of the rows that some results have an element for; 1: of none
  int64_t block = kFusedBlock;  // elements of one: a multiple of `run`, and of the runs of what is broadcast
  int64_t matrix = 0;           // elements of one of the matrices that products make; 0: there are none
  bool sums = false;            // some product adds up over the rows of a matrix
  int slots = 0;

  bool is_one_block() const { return elements <= block; }
};

struct FusedParts {
  std::vector<FusedMember> members;  // as the command has them
  std::vector<FusedUnit> units;      // in the order in which they run
};

// Throws what KernelRegistry::Create throws.
FusedParts MakeFusedParts(const Graph& graph, const Schedule& schedule, const Command& command);

}  // namespace lanescope::exec
