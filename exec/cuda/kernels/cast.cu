// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/element_wise.h"
#include "exec/functors/cast.h"

namespace lanescope::exec::cuda {
namespace {

// The target type is chosen inside the kernel, the same for every element.
template <typename From>
__global__ void CastKernel(DataType to, int64_t n, const From* x, void* y) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) {
    const From value = x[i];
    switch (to) {
      case DataType::kFloat:
        static_cast<float*>(y)[i] = functors::Cast<float, From>()(value);
        break;
      case DataType::kDouble:
        static_cast<double*>(y)[i] = functors::Cast<double, From>()(value);
        break;
      case DataType::kInt32:
        static_cast<int32_t*>(y)[i] = functors::Cast<int32_t, From>()(value);
        break;
      case DataType::kInt64:
        static_cast<int64_t*>(y)[i] = functors::Cast<int64_t, From>()(value);
        break;
      case DataType::kBool:
        static_cast<bool*>(y)[i] = functors::Cast<bool, From>()(value);
        break;
      case DataType::kUint8:
        static_cast<uint8_t*>(y)[i] = functors::Cast<uint8_t, From>()(value);
        break;
      case DataType::kInt8:
        static_cast<int8_t*>(y)[i] = functors::Cast<int8_t, From>()(value);
        break;
      case DataType::kInt16:
        static_cast<int16_t*>(y)[i] = functors::Cast<int16_t, From>()(value);
        break;
      case DataType::kUint16:
        static_cast<uint16_t*>(y)[i] = functors::Cast<uint16_t, From>()(value);
        break;
      case DataType::kUint32:
        static_cast<uint32_t*>(y)[i] = functors::Cast<uint32_t, From>()(value);
        break;
      default:
        static_cast<uint64_t*>(y)[i] = functors::Cast<uint64_t, From>()(value);
    }
  }
}

template <typename From>
void Cast(Launch& launch, DataType to, int64_t n, const void* x, void* y) {
  CastKernel<From><<<BlocksFor(n), kThreads, 0, launch.stream()>>>(to, n, static_cast<const From*>(x), y);
  CheckLaunch("Cast");
}

}  // namespace

void RunCast(Launch& launch, size_t from, size_t to, int64_t n, const void* x, void* y) {
  if (n == 0) return;
  const DataType type = kCastTypes[to];
  switch (kCastTypes[from]) {
    case DataType::kFloat:
      return Cast<float>(launch, type, n, x, y);
    case DataType::kDouble:
      return Cast<double>(launch, type, n, x, y);
    case DataType::kInt32:
      return Cast<int32_t>(launch, type, n, x, y);
    case DataType::kInt64:
      return Cast<int64_t>(launch, type, n, x, y);
    case DataType::kBool:
      return Cast<bool>(launch, type, n, x, y);
    case DataType::kUint8:
      return Cast<uint8_t>(launch, type, n, x, y);
    case DataType::kInt8:
      return Cast<int8_t>(launch, type, n, x, y);
    case DataType::kInt16:
      return Cast<int16_t>(launch, type, n, x, y);
    case DataType::kUint16:
      return Cast<uint16_t>(launch, type, n, x, y);
    case DataType::kUint32:
      return Cast<uint32_t>(launch, type, n, x, y);
    default:
      return Cast<uint64_t>(launch, type, n, x, y);
  }
}

}  // namespace lanescope::exec::cuda
