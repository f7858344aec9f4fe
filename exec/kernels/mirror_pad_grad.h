// SPDX-License-Identifier: Apache-2.0
// The gradient of MirrorPad, element by element: what each element of the unpadded tensor gets from its place
// and from its images in the borders. Evaluated on host and device.
#pragma once

#include <cstdint>

#include "core/graph/shape.h"
#include "exec/functors/isa.h"

namespace lanescope::exec {

// Value type, passed to CUDA kernels as a parameter.
struct MirrorPadGradMap {
  struct Axis {
    int64_t size;  // without borders
    int64_t before, after;
    int64_t stride;  // in the padded tensor
  };
  int rank = 0;
  int64_t skip = 0;  // 1: the border does not repeat the outermost element
  Axis axes[Shape::kMaxRank] = {};

  // Offsets in the padded tensor of the places along one axis that hold element i. Returns how many.
  LANESCOPE_HOST_DEVICE int PlacesOf(const Axis& axis, int64_t i, int64_t (&places)[3]) const {
    int count = 0;
    places[count++] = (axis.before + i) * axis.stride;
    const int64_t left = i - skip;
    if (left >= 0 && left < axis.before) places[count++] = (axis.before - 1 - left) * axis.stride;
    const int64_t right = axis.size - 1 - skip - i;
    if (right >= 0 && right < axis.after) places[count++] = (axis.before + axis.size + right) * axis.stride;
    return count;
  }

  // The sum over all places of element i of the unpadded tensor.
  template <typename T>
  LANESCOPE_HOST_DEVICE T Sum(int64_t i, const T* padded) const {
    int64_t places[Shape::kMaxRank][3];
    int counts[Shape::kMaxRank] = {};
    int at[Shape::kMaxRank] = {};
    for (int d = rank - 1; d >= 0; --d) {
      counts[d] = PlacesOf(axes[d], i % axes[d].size, places[d]);
      i /= axes[d].size;
    }
    T sum = T(0);
    while (true) {
      int64_t offset = 0;
      for (int d = 0; d < rank; ++d) offset += places[d][at[d]];
      sum += padded[offset];
      int d = rank - 1;
      while (d >= 0 && ++at[d] == counts[d]) at[d--] = 0;
      if (d < 0) return sum;
    }
  }
};

}  // namespace lanescope::exec
