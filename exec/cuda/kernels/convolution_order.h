// SPDX-License-Identifier: Apache-2.0
// The orders in which the tensors of a convolution lie: TensorFlow's (images NHWC, filters RSCK) and the two
// that cuDNN has, and how to get from one to the other.
#pragma once

#include <cstdint>

#include "exec/cuda/kernels/convolution.h"
#include "exec/cuda/kernels/copy_map.h"

namespace lanescope::exec::cuda {

enum class ConvOrder { kNhwc, kNchw };  // images so; filters KRSC, KCRS
enum class ConvTensor { kImages, kFilter, kOut };

// The rearrangement of [batch, rows, columns] to [batch, columns, rows].
inline CopyMap TransposeMap(int64_t batch, int64_t rows, int64_t columns) {
  CopyMap map;
  map.AddDim(batch, rows * columns, rows * columns);
  map.AddDim(columns, rows, 1);
  map.AddDim(rows, 1, columns);
  return map;
}

// That of [a, b, c] to [c, b, a].
inline CopyMap ReverseMap(int64_t a, int64_t b, int64_t c) {
  CopyMap map;
  map.AddDim(c, a * b, 1);
  map.AddDim(b, a, c);
  map.AddDim(a, 1, b * c);
  return map;
}

inline int64_t ElementsOf(const ConvSpec& spec, ConvTensor tensor) {
  switch (tensor) {
    case ConvTensor::kImages:
      return spec.batch * spec.rows.in * spec.columns.in * spec.channels;
    case ConvTensor::kFilter:
      return spec.patch() * spec.filters;
    case ConvTensor::kOut:
      return spec.positions() * spec.filters;
  }
  return 0;
}

// From TensorFlow's order to cuDNN's.
inline CopyMap MapToOrder(const ConvSpec& spec, ConvTensor tensor, ConvOrder order) {
  const bool nchw = order == ConvOrder::kNchw;
  if (tensor == ConvTensor::kFilter) {
    return nchw ? ReverseMap(spec.rows.size * spec.columns.size, spec.channels, spec.filters)
                : TransposeMap(1, spec.patch(), spec.filters);
  }
  if (!nchw) return TransposeMap(1, 1, ElementsOf(spec, tensor));
  return tensor == ConvTensor::kImages
             ? TransposeMap(spec.batch, spec.rows.in * spec.columns.in, spec.channels)
             : TransposeMap(spec.batch, spec.rows.out * spec.columns.out, spec.filters);
}

// And back.
inline CopyMap MapFromOrder(const ConvSpec& spec, ConvTensor tensor, ConvOrder order) {
  const bool nchw = order == ConvOrder::kNchw;
  if (tensor == ConvTensor::kFilter) {
    return nchw ? ReverseMap(spec.filters, spec.channels, spec.rows.size * spec.columns.size)
                : TransposeMap(1, spec.filters, spec.patch());
  }
  if (!nchw) return TransposeMap(1, 1, ElementsOf(spec, tensor));
  return tensor == ConvTensor::kImages
             ? TransposeMap(spec.batch, spec.channels, spec.rows.in * spec.columns.in)
             : TransposeMap(spec.batch, spec.filters, spec.rows.out * spec.columns.out);
}

// Whether nothing moves, as with images of one channel.
inline bool KeepsOrder(const CopyMap& map) {
  return map.dims == 0 || (map.dims == 1 && map.to[0] == 1 && map.from[0] == 1);
}

}  // namespace lanescope::exec::cuda
