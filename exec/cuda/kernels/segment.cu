// SPDX-License-Identifier: Apache-2.0
// Sums of rows by number and updates of rows by number, over sorted numbers; and small bodies around them.
#include <cmath>
#include <limits>

#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/movement.h"
#include "exec/cuda/kernels/scratch_layout.h"
#include "exec/cuda/kernels/segment_tile.h"
#include "exec/cuda/kernels/sort.cuh"
#include "exec/cuda/kernels/sparse.h"

namespace lanescope::exec::cuda {
namespace {

template <typename T>
__global__ void TileKernel(SegmentTiles<T> tiles, int64_t items) {
  for (int64_t i = ThreadIndex(); i < items; i += ThreadCount()) {
    int64_t tile = i;
    const int64_t column = tiles.inner.Split(tile);
    tiles.RunTile(tile, column);
  }
}

template <typename T>
__global__ void JoinKernel(SegmentTiles<T> tiles, int64_t items) {
  for (int64_t i = ThreadIndex(); i < items; i += ThreadCount()) {
    int64_t tile = i;
    const int64_t column = tiles.inner.Split(tile);
    tiles.JoinTile(tile, column);
  }
}

int64_t PartialBytes(int64_t updates, int64_t inner, int64_t element_bytes) {
  return (updates + kTileUpdates - 1) / kTileUpdates * inner * element_bytes;
}

// `partial` has room for twice PartialBytes().
template <typename T>
void RunTiles(Launch& launch, SegmentTiles<T> tiles, char* partial) {
  const int64_t items = tiles.tiles() * tiles.inner.divisor();
  tiles.heads = reinterpret_cast<T*>(partial);
  tiles.tails = tiles.heads + items;
  TileKernel<T><<<BlocksFor(items), kThreads, 0, launch.stream()>>>(tiles, items);
  CheckLaunch("sums of rows");
  if (tiles.tiles() == 1) return;
  JoinKernel<T><<<BlocksFor(items), kThreads, 0, launch.stream()>>>(tiles, items);
  CheckLaunch("sums of rows");
}

template <typename Fn>
void Dispatch(LoopType type, Fn fn) {
  switch (type) {
    case LoopType::kFloat:
      return fn(float{});
    case LoopType::kDouble:
      return fn(double{});
    case LoopType::kInt32:
      return fn(int32_t{});
    default:
      return fn(int64_t{});
  }
}

// Sorts the updates and combines them with what `target` holds, or stores their totals there.
template <typename T>
void CombineRows(Launch& launch, const RowUpdates& spec, const CoordinateMap* map, IndexReader row_of,
                 bool store, const T* updates, T* target) {
  if (spec.updates * spec.inner == 0 || spec.rows == 0) return;
  const int64_t partial = 2 * PartialBytes(spec.updates, spec.inner, sizeof(T));
  const SortedUpdates sorted = map == nullptr
                                   ? SortUpdates(launch, partial, spec.rows, spec.updates, row_of)
                                   : SortUpdates(launch, partial, spec.rows, spec.updates, row_of, *map);
  SegmentTiles<T> tiles;
  tiles.how = spec.how;
  tiles.store = store;
  tiles.updates = spec.updates;
  tiles.rows = spec.rows;
  tiles.data_rows = spec.updates;
  tiles.data_step = spec.update_step;
  tiles.inner = Divider(spec.inner);
  tiles.keys = {sorted.keys, 8};
  tiles.order = {sorted.order, 4};
  tiles.data = updates;
  tiles.target = target;
  RunTiles(launch, tiles, sorted.reserved);
}

template <typename T>
T IdentityOf(Combine how) {
  switch (how) {
    case Combine::kMul:
      return T(1);
    case Combine::kMin:
      return std::numeric_limits<T>::max();
    case Combine::kMax:
      return std::numeric_limits<T>::lowest();
    default:
      return T(0);
  }
}

// Chunks of row numbers that travel as parameters of a launch.
constexpr int kMostTargets = 256;

struct Targets {
  int64_t at[kMostTargets];
};

template <typename T>
__global__ void PlaceRowsKernel(Targets targets, int64_t elements, Divider inner, const T* from, T* to) {
  for (int64_t i = ThreadIndex(); i < elements; i += ThreadCount()) {
    int64_t row = i;
    const int64_t column = inner.Split(row);
    const int64_t target = targets.at[row];
    if (target >= 0) to[target * inner.divisor() + column] = from[i];
  }
}

template <typename T>
void PlaceRows(Launch& launch, int64_t rows, int64_t inner, const int64_t* targets, const void* from,
               void* to) {
  for (int64_t first = 0; first < rows; first += kMostTargets) {
    const int64_t count = std::min<int64_t>(kMostTargets, rows - first);
    Targets chunk{};
    for (int64_t i = 0; i < count; ++i) chunk.at[i] = targets[first + i];
    PlaceRowsKernel<T><<<BlocksFor(count * inner), kThreads, 0, launch.stream()>>>(
        chunk, count * inner, Divider(inner), static_cast<const T*>(from) + first * inner,
        static_cast<T*>(to));
    CheckLaunch("placing rows");
  }
}

template <typename T>
__global__ void CheckFiniteKernel(int64_t n, const T* x, int32_t* found) {
  int bits = 0;
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) {
    if (functors::IsNan()(x[i])) bits |= 1;
    if (functors::IsInf()(x[i])) bits |= x[i] > T(0) ? 2 : 4;
  }
  if (bits != 0) atomicOr(found, bits);
}

}  // namespace

void RunRowUpdates(Launch& launch, const RowUpdates& spec, LoopType type, IndexReader row_of,
                   const void* updates, void* target) {
  Dispatch(type, [&](auto tag) {
    using T = decltype(tag);
    CombineRows<T>(launch, spec, nullptr, row_of, false, static_cast<const T*>(updates),
                   static_cast<T*>(target));
  });
}

void RunRowUpdatesNd(Launch& launch, const RowUpdates& spec, LoopType type, const CoordinateMap& map,
                     IndexReader coordinates, const void* updates, void* target) {
  Dispatch(type, [&](auto tag) {
    using T = decltype(tag);
    CombineRows<T>(launch, spec, &map, coordinates, false, static_cast<const T*>(updates),
                   static_cast<T*>(target));
  });
}

void RunUnsortedSegments(Launch& launch, const UnsortedSegments& spec, LoopType type, IndexReader ids,
                         const void* data, void* result) {
  if (spec.segments * spec.inner == 0) return;
  Dispatch(type, [&](auto tag) {
    using T = decltype(tag);
    const T identity = IdentityOf<T>(spec.how);
    RunFillFromHost(launch, sizeof(T), spec.segments * spec.inner, result, &identity);
    const RowUpdates updates{spec.how, spec.segments, spec.rows, spec.inner, 1};
    CombineRows<T>(launch, updates, nullptr, ids, true, static_cast<const T*>(data), static_cast<T*>(result));
  });
}

void RunSortedSegments(Launch& launch, const SortedSegments& spec, LoopType type, IndexReader ids,
                       IndexReader row_of, const void* data, void* result) {
  if (spec.segments * spec.inner == 0) return;
  Dispatch(type, [&](auto tag) {
    using T = decltype(tag);
    const T empty = static_cast<T>(spec.empty);
    RunFillFromHost(launch, sizeof(T), spec.segments * spec.inner, result, &empty);
    if (spec.rows == 0) return;
    SegmentTiles<T> tiles;
    tiles.how = spec.how;
    tiles.scaling = static_cast<int>(spec.scaling);
    tiles.store = true;
    tiles.updates = spec.rows;
    tiles.rows = spec.segments;
    tiles.data_rows = spec.data_rows;
    tiles.inner = Divider(spec.inner);
    tiles.keys = ids;
    tiles.order = row_of;
    tiles.data = static_cast<const T*>(data);
    tiles.target = static_cast<T*>(result);
    const int64_t bytes = 2 * PartialBytes(spec.rows, spec.inner, sizeof(T));
    RunTiles(launch, tiles, static_cast<char*>(launch.Scratch(bytes)));
  });
}

void RunPlaceRows(Launch& launch, int64_t element_bytes, int64_t rows, int64_t inner, const int64_t* targets,
                  const void* from, void* to) {
  if (rows * inner == 0) return;
  switch (element_bytes) {
    case 1:
      return PlaceRows<uint8_t>(launch, rows, inner, targets, from, to);
    case 2:
      return PlaceRows<uint16_t>(launch, rows, inner, targets, from, to);
    case 4:
      return PlaceRows<uint32_t>(launch, rows, inner, targets, from, to);
    default:
      return PlaceRows<uint64_t>(launch, rows, inner * (element_bytes / 8), targets, from, to);
  }
}

int CheckFinite(Launch& launch, int32_t* staging, LoopType type, int64_t n, const void* x) {
  if (n == 0) return 0;
  auto* found = static_cast<int32_t*>(launch.Scratch(sizeof(int32_t)));
  ZeroBytes(launch, found, sizeof(int32_t));
  if (type == LoopType::kFloat) {
    CheckFiniteKernel<<<BlocksFor(n), kThreads, 0, launch.stream()>>>(n, static_cast<const float*>(x), found);
  } else {
    CheckFiniteKernel<<<BlocksFor(n), kThreads, 0, launch.stream()>>>(n, static_cast<const double*>(x),
                                                                      found);
  }
  CheckLaunch("CheckNumerics");
  Check(cudaMemcpyAsync(staging, found, sizeof(int32_t), cudaMemcpyDeviceToHost, launch.stream()),
        "reading a result");
  launch.Synchronize();
  return *staging;
}

int64_t LastOf(Launch& launch, int64_t* staging, IndexReader numbers, int64_t n) {
  const char* last = static_cast<const char*>(numbers.data) + (n - 1) * numbers.bytes;
  Check(cudaMemcpyAsync(staging, last, static_cast<size_t>(numbers.bytes), cudaMemcpyDeviceToHost,
                        launch.stream()),
        "reading the last segment");
  launch.Synchronize();
  return IndexReader{staging, numbers.bytes}[0];
}

}  // namespace lanescope::exec::cuda
