// SPDX-License-Identifier: Apache-2.0
// Which element of each operand an element of a broadcast result comes from. Neighbouring dimensions in which
// every operand behaves alike are merged, so that the usual cases need no division or one. Built on the host,
// evaluated on host and device.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/graph/shape.h"
#include "exec/cuda/kernels/divider.h"

namespace lanescope::exec::cuda {

// Value type, passed to kernels as a parameter.
template <int kOperands>
struct BroadcastMap {
  int64_t elements = 0;
  int dims = 0;                                     // merged; dimension 0 is the innermost
  Divider size[Shape::kMaxRank];                    // of each merged dimension
  int64_t stride[kOperands][Shape::kMaxRank] = {};  // 0 where the operand is repeated
  // One dimension or none: every operand is dense or a single element.
  bool flat = true;

  LANESCOPE_HOST_DEVICE void Offsets(int64_t element, int64_t (&offsets)[kOperands]) const {
    for (int k = 0; k < kOperands; ++k) offsets[k] = 0;
    for (int dim = 0; dim < dims; ++dim) {
      const int64_t at = dim + 1 < dims ? size[dim].Split(element) : element;
      for (int k = 0; k < kOperands; ++k) offsets[k] += at * stride[k][dim];
    }
  }
};

// `output` is the broadcast shape of all operands; all shapes exact.
template <int kOperands>
BroadcastMap<kOperands> MakeBroadcastMap(const Shape& output, const std::array<Shape, kOperands>& operands) {
  BroadcastMap<kOperands> map;
  map.elements = output.NumElements();
  int64_t sizes[Shape::kMaxRank] = {};
  bool moves[kOperands][Shape::kMaxRank] = {};
  for (int back = 1; back <= output.rank(); ++back) {
    const int64_t size = output[output.rank() - back];
    if (size == 1) continue;
    bool advance[kOperands];
    bool merge = map.dims > 0;
    for (int k = 0; k < kOperands; ++k) {
      const Shape& shape = operands[static_cast<size_t>(k)];
      advance[k] = back <= shape.rank() && shape[shape.rank() - back] != 1;
      merge = merge && moves[k][map.dims - 1] == advance[k];
    }
    if (merge) {
      sizes[map.dims - 1] *= size;
      continue;
    }
    sizes[map.dims] = size;
    for (int k = 0; k < kOperands; ++k) moves[k][map.dims] = advance[k];
    ++map.dims;
  }
  for (int k = 0; k < kOperands; ++k) {
    int64_t stride = 1;
    for (int dim = 0; dim < map.dims; ++dim) {
      map.stride[k][dim] = moves[k][dim] ? stride : 0;
      if (moves[k][dim]) stride *= sizes[dim];
    }
  }
  for (int dim = 0; dim < map.dims; ++dim) map.size[dim] = Divider(sizes[dim]);
  map.flat = map.dims <= 1;
  return map;
}

}  // namespace lanescope::exec::cuda
