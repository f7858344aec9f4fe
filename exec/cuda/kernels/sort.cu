// SPDX-License-Identifier: Apache-2.0
// Ops that need a sort or a scan: rows in order, distinct values, elements that are not zero.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/scratch_layout.h"
#include "exec/cuda/kernels/search.h"
#include "exec/cuda/kernels/sort.cuh"
#include "exec/cuda/kernels/sparse.h"

namespace lanescope::exec::cuda {
namespace {

constexpr int64_t kMostItems = int64_t{1} << 30;

void CheckItems(int64_t items) {
  if (items > kMostItems) {
    throw Error(Code::kUnimplemented, "sorting more than 2^30 elements has no CUDA kernel; split the tensor");
  }
}

int BitsFor(uint64_t largest) {
  int bits = 1;
  while (bits < 64 && (largest >> bits) != 0) ++bits;
  return bits;
}

// Buffers of one sort of pairs in scratch memory.
struct SortBuffers {
  int64_t keys_in, keys_out, order_in, order_out, temporary;
  size_t temporary_bytes = 0;

  SortBuffers(ScratchLayout& layout, int64_t n, int bits) {
    Check(
        cub::DeviceRadixSort::SortPairs(nullptr, temporary_bytes, static_cast<const uint64_t*>(nullptr),
                                        static_cast<uint64_t*>(nullptr), static_cast<const int32_t*>(nullptr),
                                        static_cast<int32_t*>(nullptr), static_cast<int>(n), 0, bits),
        "planning a sort");
    keys_in = layout.Add(n * 8);
    keys_out = layout.Add(n * 8);
    order_in = layout.Add(n * 4);
    order_out = layout.Add(n * 4);
    temporary = layout.Add(static_cast<int64_t>(temporary_bytes));
  }

  uint64_t* KeysIn(char* base) const { return reinterpret_cast<uint64_t*>(base + keys_in); }
  int32_t* OrderIn(char* base) const { return reinterpret_cast<int32_t*>(base + order_in); }
  const uint64_t* Keys(char* base) const { return reinterpret_cast<const uint64_t*>(base + keys_out); }
  const int32_t* Order(char* base) const { return reinterpret_cast<const int32_t*>(base + order_out); }

  void Sort(Launch& launch, char* base, int64_t n, int bits) {
    Check(cub::DeviceRadixSort::SortPairs(
              base + temporary, temporary_bytes, static_cast<const uint64_t*>(KeysIn(base)),
              reinterpret_cast<uint64_t*>(base + keys_out), static_cast<const int32_t*>(OrderIn(base)),
              reinterpret_cast<int32_t*>(base + order_out), static_cast<int>(n), 0, bits, launch.stream()),
          "a sort");
  }
};

struct ScanBuffer {
  int64_t temporary;
  size_t temporary_bytes = 0;

  ScanBuffer(ScratchLayout& layout, int64_t n) {
    Check(cub::DeviceScan::ExclusiveSum(nullptr, temporary_bytes, static_cast<const int32_t*>(nullptr),
                                        static_cast<int32_t*>(nullptr), static_cast<int>(n)),
          "planning a prefix sum");
    temporary = layout.Add(static_cast<int64_t>(temporary_bytes));
  }
  void Run(Launch& launch, char* base, int64_t n, const int32_t* in, int32_t* out) {
    Check(cub::DeviceScan::ExclusiveSum(base + temporary, temporary_bytes, in, out, static_cast<int>(n),
                                        launch.stream()),
          "a prefix sum");
  }
};

__global__ void RowKeysKernel(int64_t n, int64_t rows, IndexReader row_of, CoordinateMap map, uint64_t* keys,
                              int32_t* order) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) {
    const int64_t row = map.depth < 0 ? row_of[i] : map.RowOf(i, row_of);
    keys[i] = static_cast<uint64_t>(row < 0 || row >= rows ? rows : row);
    order[i] = static_cast<int32_t>(i);
  }
}

// Equal values give equal keys: zeros of both signs are one.
__device__ uint64_t KeyOf(DataType dtype, const void* x, int64_t i) {
  switch (dtype) {
    case DataType::kFloat: {
      const float value = static_cast<const float*>(x)[i];
      return value == 0.0f ? 0u : static_cast<uint64_t>(__float_as_uint(value));
    }
    case DataType::kDouble: {
      const double value = static_cast<const double*>(x)[i];
      return value == 0.0 ? 0u : static_cast<uint64_t>(__double_as_longlong(value));
    }
    case DataType::kInt32:
      return static_cast<uint64_t>(static_cast<const uint32_t*>(x)[i]);
    case DataType::kInt64:
      return static_cast<const uint64_t*>(x)[i];
    default:
      return static_cast<uint64_t>(static_cast<const uint8_t*>(x)[i]);
  }
}

int KeyBits(DataType dtype) {
  if (dtype == DataType::kInt64 || dtype == DataType::kDouble) return 64;
  return dtype == DataType::kInt32 || dtype == DataType::kFloat ? 32 : 8;
}

__global__ void ValueKeysKernel(DataType dtype, int64_t n, const void* x, uint64_t* keys, int32_t* order) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) {
    keys[i] = KeyOf(dtype, x, i);
    order[i] = static_cast<int32_t>(i);
  }
}

// flags[i] = 1 where element i is the first of its value. The sort is stable: the first of a group is the
// first occurrence.
__global__ void FirstsKernel(int64_t n, const uint64_t* keys, const int32_t* order, int32_t* flags) {
  for (int64_t p = ThreadIndex(); p < n; p += ThreadCount()) {
    flags[order[p]] = p == 0 || keys[p - 1] != keys[p] ? 1 : 0;
  }
}

__device__ void StoreIndex(void* to, int bytes, int64_t i, int64_t value) {
  if (bytes == 4) {
    static_cast<int32_t*>(to)[i] = static_cast<int32_t>(value);
  } else {
    static_cast<int64_t*>(to)[i] = value;
  }
}

__device__ void CopyElement(int64_t bytes, void* to, int64_t at, const void* from, int64_t i) {
  if (bytes == 8) {
    static_cast<uint64_t*>(to)[at] = static_cast<const uint64_t*>(from)[i];
  } else if (bytes == 4) {
    static_cast<uint32_t*>(to)[at] = static_cast<const uint32_t*>(from)[i];
  } else {
    static_cast<uint8_t*>(to)[at] = static_cast<const uint8_t*>(from)[i];
  }
}

// places[i]: how many distinct values occur first before element i.
__global__ void NumbersKernel(int64_t n, const uint64_t* keys, const int32_t* order, const int32_t* places,
                              int64_t element_bytes, const void* x, void* distinct, int index_bytes,
                              void* numbers, void* counts) {
  for (int64_t p = ThreadIndex(); p < n; p += ThreadCount()) {
    int64_t head = p;
    if (p > 0 && keys[p - 1] == keys[p]) head = LowerBound(keys, p, keys[p]);
    const int64_t number = places[order[head]];
    StoreIndex(numbers, index_bytes, order[p], number);
    if (head != p) continue;
    CopyElement(element_bytes, distinct, number, x, order[p]);
    if (counts != nullptr) StoreIndex(counts, index_bytes, number, UpperBound(keys, n, keys[p]) - p);
  }
}

__global__ void NonZeroFlagsKernel(DataType dtype, int64_t n, const void* x, int32_t* flags) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) flags[i] = KeyOf(dtype, x, i) != 0 ? 1 : 0;
}

struct Extents {
  int rank;
  Divider at[Shape::kMaxRank];
};

__global__ void CoordinatesKernel(DataType dtype, int64_t n, const void* x, const int32_t* places,
                                  Extents extents, int64_t* coordinates) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) {
    if (KeyOf(dtype, x, i) == 0) continue;
    int64_t rest = i;
    int64_t* to = coordinates + static_cast<int64_t>(places[i]) * extents.rank;
    for (int d = extents.rank - 1; d >= 0; --d) to[d] = extents.at[d].Split(rest);
  }
}

// How many flags were set, from the prefix sums: waits for the stream.
int64_t TotalOf(Launch& launch, int32_t* staging, const int32_t* flags, const int32_t* places, int64_t n) {
  Check(cudaMemcpyAsync(staging, places + n - 1, 4, cudaMemcpyDeviceToHost, launch.stream()),
        "reading a count");
  Check(cudaMemcpyAsync(staging + 1, flags + n - 1, 4, cudaMemcpyDeviceToHost, launch.stream()),
        "reading a count");
  launch.Synchronize();
  return int64_t{staging[0]} + staging[1];
}

// first[p] = the first sorted update whose row is at least p.
__global__ void BoundsKernel(int64_t parts, int64_t n, const uint64_t* keys, int64_t* first) {
  for (int64_t p = ThreadIndex(); p <= parts; p += ThreadCount()) {
    first[p] = LowerBound(keys, n, static_cast<uint64_t>(p));
  }
}

}  // namespace

SortedUpdates SortUpdates(Launch& launch, int64_t reserved_bytes, int64_t rows, int64_t updates,
                          IndexReader row_of, const CoordinateMap& map) {
  CheckItems(updates);
  ScratchLayout layout;
  layout.Add(reserved_bytes);
  const int bits = BitsFor(static_cast<uint64_t>(rows));
  SortBuffers buffers(layout, updates, bits);
  char* base = static_cast<char*>(launch.Scratch(layout.bytes()));
  RowKeysKernel<<<BlocksFor(updates), kThreads, 0, launch.stream()>>>(
      updates, rows, row_of, map, buffers.KeysIn(base), buffers.OrderIn(base));
  CheckLaunch("the keys of a sort");
  buffers.Sort(launch, base, updates, bits);
  return {buffers.Keys(base), buffers.Order(base), base};
}

SortedUpdates SortUpdates(Launch& launch, int64_t reserved_bytes, int64_t rows, int64_t updates,
                          IndexReader row_of) {
  CoordinateMap plain;
  plain.depth = -1;
  return SortUpdates(launch, reserved_bytes, rows, updates, row_of, plain);
}

int64_t RunUnique(Launch& launch, int32_t* staging, DataType dtype, int64_t n, const void* x, void* distinct,
                  int index_bytes, void* numbers, void* counts) {
  if (n == 0) return 0;
  CheckItems(n);
  ScratchLayout layout;
  SortBuffers buffers(layout, n, KeyBits(dtype));
  const int64_t flags_at = layout.Add(n * 4);
  const int64_t places_at = layout.Add(n * 4);
  ScanBuffer scan(layout, n);
  char* base = static_cast<char*>(launch.Scratch(layout.bytes()));
  int32_t* flags = reinterpret_cast<int32_t*>(base + flags_at);
  int32_t* places = reinterpret_cast<int32_t*>(base + places_at);
  ValueKeysKernel<<<BlocksFor(n), kThreads, 0, launch.stream()>>>(dtype, n, x, buffers.KeysIn(base),
                                                                  buffers.OrderIn(base));
  CheckLaunch("the keys of Unique");
  buffers.Sort(launch, base, n, KeyBits(dtype));
  FirstsKernel<<<BlocksFor(n), kThreads, 0, launch.stream()>>>(n, buffers.Keys(base), buffers.Order(base),
                                                               flags);
  CheckLaunch("Unique");
  scan.Run(launch, base, n, flags, places);
  NumbersKernel<<<BlocksFor(n), kThreads, 0, launch.stream()>>>(
      n, buffers.Keys(base), buffers.Order(base), places, static_cast<int64_t>(ElementSize(dtype)), x,
      distinct, index_bytes, numbers, counts);
  CheckLaunch("Unique");
  return TotalOf(launch, staging, flags, places, n);
}

NonZeros FindNonZeros(Launch& launch, int32_t* staging, DataType dtype, int64_t n, const void* x) {
  if (n == 0) return {};
  CheckItems(n);
  ScratchLayout layout;
  const int64_t flags_at = layout.Add(n * 4);
  const int64_t places_at = layout.Add(n * 4);
  ScanBuffer scan(layout, n);
  char* base = static_cast<char*>(launch.Scratch(layout.bytes()));
  int32_t* flags = reinterpret_cast<int32_t*>(base + flags_at);
  int32_t* places = reinterpret_cast<int32_t*>(base + places_at);
  NonZeroFlagsKernel<<<BlocksFor(n), kThreads, 0, launch.stream()>>>(dtype, n, x, flags);
  CheckLaunch("Where");
  scan.Run(launch, base, n, flags, places);
  return {TotalOf(launch, staging, flags, places, n), places};
}

void WriteNonZeros(Launch& launch, const NonZeros& found, DataType dtype, int64_t n, const void* x, int rank,
                   const int64_t* extents, int64_t* coordinates) {
  if (found.count == 0) return;
  Extents dims{};
  dims.rank = rank;
  for (int d = 0; d < rank; ++d) dims.at[d] = Divider(extents[d]);
  CoordinatesKernel<<<BlocksFor(n), kThreads, 0, launch.stream()>>>(dtype, n, x, found.places, dims,
                                                                    coordinates);
  CheckLaunch("Where");
}

const int32_t* PlanPartition(Launch& launch, int64_t* first, int64_t rows, int64_t parts,
                             IndexReader part_of) {
  for (int64_t p = 0; p <= parts; ++p) first[p] = 0;
  if (rows == 0) return nullptr;
  const int64_t bytes = (parts + 1) * 8;
  const SortedUpdates sorted = SortUpdates(launch, bytes, parts, rows, part_of);
  int64_t* bounds = reinterpret_cast<int64_t*>(sorted.reserved);
  BoundsKernel<<<BlocksFor(parts + 1), kThreads, 0, launch.stream()>>>(parts, rows, sorted.keys, bounds);
  CheckLaunch("DynamicPartition");
  Check(cudaMemcpyAsync(first, bounds, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, launch.stream()),
        "reading the sizes of partitions");
  launch.Synchronize();
  return sorted.order;
}

}  // namespace lanescope::exec::cuda
