// SPDX-License-Identifier: Apache-2.0
// How a reduction of a dense tensor over some of its dimensions is dealt to threads. The split depends on the
// shape alone, so that a result is the same from run to run. Built on the host, evaluated on host and device.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/graph/shape.h"
#include "exec/cuda/kernels/divider.h"

namespace lanescope::exec::cuda {

// The elements of some merged dimensions in row-major order, as offsets into the tensor.
struct DimWalk {
  int64_t count = 1;
  int dims = 0;  // dimension 0 is the innermost
  Divider size[Shape::kMaxRank];
  int64_t stride[Shape::kMaxRank] = {};

  LANESCOPE_HOST_DEVICE int64_t Offset(int64_t index) const {
    int64_t offset = 0;
    for (int dim = 0; dim < dims; ++dim) {
      const int64_t at = dim + 1 < dims ? size[dim].Split(index) : index;
      offset += at * stride[dim];
    }
    return offset;
  }

  void AddOuter(int64_t extent, int64_t step) {
    count *= extent;
    size[dims] = Divider(extent);
    stride[dims] = step;
    ++dims;
  }
};

// A block of kReduceThreads threads works on `outputs_per_block` results at a time; `lanes` threads share one
// and take every lanes-th of its elements. With columns_first neighbouring threads own neighbouring results
// (the innermost dimension stays), otherwise they read neighbouring elements of one result. The elements of a
// result are cut into `parts` stretches of `part` elements, each reduced by another block.
struct ReducePlan {
  DimWalk kept;
  DimWalk reduced;
  bool columns_first = false;
  int64_t outputs_per_block = 1;
  int64_t lanes = 1;
  int64_t parts = 1;
  int64_t part = 1;

  // Blocks along the results.
  int64_t column_blocks() const { return (kept.count + outputs_per_block - 1) / outputs_per_block; }

  // The place of thread `thread` of a block: which of the block's results, which lane of it.
  LANESCOPE_HOST_DEVICE int64_t OutputOf(int64_t thread) const {
    return columns_first ? thread % outputs_per_block : thread / lanes;
  }
  LANESCOPE_HOST_DEVICE int64_t LaneOf(int64_t thread) const {
    return columns_first ? thread / outputs_per_block : thread % lanes;
  }
};

inline constexpr int64_t kReduceThreads = 256;
// Elements that one thread takes before a result is split over blocks.
inline constexpr int64_t kReduceSerial = 32;
// Results are split only while there are fewer blocks than fill a large GPU.
inline constexpr int64_t kReduceBlocks = 1024;

inline int64_t PowerOfTwoUpTo(int64_t limit) {
  int64_t power = 1;
  while (power * 2 <= limit) power *= 2;
  return power;
}

// Threads and parts for `kept` results of `reduced` elements each. lanes is a power of two.
inline void SplitReduction(ReducePlan& plan) {
  const int64_t kept = plan.kept.count;
  const int64_t reduced = std::max<int64_t>(1, plan.reduced.count);
  if (plan.columns_first) {
    const int64_t wanted = kept < 32 ? kept : 32;
    // Short columns of many results: a thread each.
    plan.outputs_per_block = reduced <= 8 ? std::min<int64_t>(kept, kReduceThreads) : wanted;
    plan.outputs_per_block = std::max<int64_t>(1, plan.outputs_per_block);
    plan.lanes = PowerOfTwoUpTo(std::min(kReduceThreads / plan.outputs_per_block, reduced));
  } else {
    plan.lanes = reduced > 1024 ? kReduceThreads : 32;
    plan.outputs_per_block = kReduceThreads / plan.lanes;
  }
  const int64_t blocks = plan.column_blocks();
  const int64_t useful = (reduced + plan.lanes * kReduceSerial - 1) / (plan.lanes * kReduceSerial);
  plan.parts =
      std::clamp<int64_t>(std::min(useful, kReduceBlocks / std::max<int64_t>(1, blocks)), 1, kReduceBlocks);
  plan.part = (reduced + plan.parts - 1) / plan.parts;
  plan.parts = (reduced + plan.part - 1) / plan.part;
}

inline ReducePlan MakeReducePlan(const Shape& shape, const std::array<bool, Shape::kMaxRank>& gone) {
  ReducePlan plan;
  int64_t stride = 1;
  int64_t extent = 1;  // of the dimension that is being merged, which began at `step`
  int64_t step = 1;
  bool open = false;
  bool open_gone = false;
  bool first = true;
  const auto close = [&] {
    if (!open) return;
    if (first) plan.columns_first = !open_gone;
    first = false;
    (open_gone ? plan.reduced : plan.kept).AddOuter(extent, step);
  };
  for (int dim = shape.rank() - 1; dim >= 0; --dim) {
    const int64_t size = shape[dim];
    if (size != 1) {
      const bool is_gone = gone[static_cast<size_t>(dim)];
      if (open && open_gone == is_gone) {
        extent *= size;
      } else {
        close();
        open = true;
        open_gone = is_gone;
        extent = size;
        step = stride;
      }
    }
    stride *= size;
  }
  close();
  SplitReduction(plan);
  return plan;
}

// The second pass over the partial results [parts, kept] of a first one.
inline ReducePlan MakeJoinPlan(const ReducePlan& first) {
  ReducePlan plan;
  if (first.kept.count != 1) plan.kept.AddOuter(first.kept.count, 1);
  plan.reduced.AddOuter(first.parts, first.kept.count);
  plan.columns_first = first.kept.count != 1;
  SplitReduction(plan);
  plan.parts = 1;
  plan.part = first.parts;
  return plan;
}

}  // namespace lanescope::exec::cuda
