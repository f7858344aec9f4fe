// SPDX-License-Identifier: Apache-2.0
// Where an element of a padded tensor comes from. Evaluated on host and device.
#pragma once

#include <cstdint>

#include "core/graph/shape.h"
#include "exec/cuda/kernels/divider.h"
#include "exec/kernels/pad_plan.h"

namespace lanescope::exec::cuda {

// Value type, passed to kernels as a parameter. Dimension 0 is the innermost.
struct PadMap {
  int64_t elements = 1;  // of the padded tensor
  int dims = 0;
  Divider size[Shape::kMaxRank];  // of the padded tensor
  int64_t before[Shape::kMaxRank] = {};
  int64_t inner[Shape::kMaxRank] = {};   // extent of the original
  int64_t stride[Shape::kMaxRank] = {};  // of the original
  PadMode mode = PadMode::kConstant;

  void AddOuter(int64_t extent, int64_t pad_before, int64_t pad_after) {
    const int64_t step = dims == 0 ? 1 : stride[dims - 1] * inner[dims - 1];
    const int64_t padded = pad_before + extent + pad_after;
    elements *= padded;
    size[dims] = Divider(padded);
    before[dims] = pad_before;
    inner[dims] = extent;
    stride[dims] = step;
    ++dims;
  }

  // Offset into the original, or -1 for the constant.
  LANESCOPE_HOST_DEVICE int64_t Source(int64_t element) const {
    int64_t offset = 0;
    for (int dim = 0; dim < dims; ++dim) {
      int64_t at = size[dim].Split(element) - before[dim];
      const int64_t extent = inner[dim];
      if (at < 0 || at >= extent) {
        if (mode == PadMode::kConstant) return -1;
        const int64_t skip = mode == PadMode::kReflect ? 1 : 0;
        at = at < 0 ? skip - 1 - at : 2 * extent - 1 - skip - at;
      }
      offset += at * stride[dim];
    }
    return offset;
  }
};

}  // namespace lanescope::exec::cuda
