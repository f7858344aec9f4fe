// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/access.h"

namespace lanescope::exec::cuda {

IndexReader ReaderOf(std::string_view op, const TensorRef& indices) {
  DispatchIndex(op, indices.dtype, [](auto) {});
  return {indices.data, static_cast<int>(ElementSize(indices.dtype))};
}

CoordinateMap MapOf(const CoordinateRows& rows, const Shape& shape) {
  CoordinateMap map;
  map.depth = rows.depth;
  int64_t stride = 1;
  for (int d = rows.depth - 1; d >= 0; --d) {
    map.extent[d] = shape[d];
    map.stride[d] = stride;
    stride *= shape[d];
  }
  return map;
}

WindowAxis AxisOf(const WindowDim& dim) {
  WindowAxis axis;
  axis.in = dim.in;
  axis.out = dim.out;
  axis.size = dim.size;
  axis.stride = dim.stride;
  axis.dilation = dim.dilation;
  axis.before = dim.before;
  return axis;
}

std::unique_ptr<Kernel> MakeHostKernel(const Node& node) { return KernelRegistry::Host().Create(node); }

}  // namespace lanescope::exec::cuda
