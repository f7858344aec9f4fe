// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/movement.h"

namespace lanescope::exec::cuda {
namespace {

struct alignas(16) Bytes16 {
  uint64_t low, high;
};

// Calls fn(T{}) with a type of that size.
template <typename Fn>
void DispatchBytes(int64_t bytes, Fn fn) {
  switch (bytes) {
    case 1:
      return fn(uint8_t{});
    case 2:
      return fn(uint16_t{});
    case 4:
      return fn(uint32_t{});
    case 8:
      return fn(uint64_t{});
    default:
      return fn(Bytes16{});
  }
}

// The widest element up to 16 bytes at which the pointers are aligned, in elements of `bytes`.
template <typename... Pointers>
int64_t AlignedWidth(int64_t bytes, Pointers... pointers) {
  const uintptr_t bits = (reinterpret_cast<uintptr_t>(pointers) | ... | uintptr_t{0});
  int64_t width = 16 / bytes;
  while (width > 1 && bits % static_cast<uintptr_t>(width * bytes) != 0) width /= 2;
  return width;
}

// The dividing width for runs of `counts` elements.
int64_t DividingWidth(int64_t width, int64_t count) {
  while (width > 1 && count % width != 0) width /= 2;
  return width;
}

template <typename T>
__global__ void FillKernel(int64_t n, T* to, const T* from, T value) {
  if (from != nullptr) value = *from;
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) to[i] = value;
}

template <typename T>
__global__ void StridedCopyKernel(CopyMap map, T* to, const T* from) {
  for (int64_t i = ThreadIndex(); i < map.elements; i += ThreadCount()) {
    int64_t to_offset;
    int64_t from_offset;
    map.Offsets(i, to_offset, from_offset);
    to[to_offset] = from[from_offset];
  }
}

constexpr int kTileRows = 8;  // rows of a tile that a block moves at once

template <typename T>
__global__ void TransposeKernel(TileMap map, int64_t tiles, T* to, const T* from) {
  constexpr int kTile = static_cast<int>(TileMap::kTile);
  __shared__ T buffer[kTile][kTile + 1];
  const int lane = static_cast<int>(threadIdx.x);
  for (int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
    const TileMap::Tile tile = map.TileAt(index);
    for (int c = static_cast<int>(threadIdx.y); c < kTile; c += kTileRows) {
      const int64_t row = tile.row + lane;
      const int64_t column = tile.column + c;
      if (row < map.rows && column < map.columns) {
        buffer[c][lane] = from[tile.from + row + column * map.column_from];
      }
    }
    __syncthreads();
    for (int r = static_cast<int>(threadIdx.y); r < kTile; r += kTileRows) {
      const int64_t row = tile.row + r;
      const int64_t column = tile.column + lane;
      if (row < map.rows && column < map.columns) {
        to[tile.to + row * map.row_to + column] = buffer[lane][r];
      }
    }
    __syncthreads();
  }
}

// Tensors side by side that one launch joins or cuts.
constexpr int kMostRuns = 64;

struct RunTable {
  void* at[kMostRuns];
  int64_t end[kMostRuns];  // of the run within the row, from the first run of this table on
  int count = 0;
};

template <typename T, bool kJoin>
__global__ void RunsKernel(RunTable table, int64_t rows, Divider width, int64_t whole_width, T* whole) {
  const int64_t n = rows * width.divisor();
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) {
    int64_t row = i;
    const int64_t column = width.Split(row);
    int k = 0;
    while (column >= table.end[k]) ++k;
    const int64_t begin = k == 0 ? 0 : table.end[k - 1];
    T* part = static_cast<T*>(table.at[k]) + row * (table.end[k] - begin) + column - begin;
    T* place = whole + row * whole_width + column;
    if constexpr (kJoin) {
      *place = *part;
    } else {
      *part = *place;
    }
  }
}

template <bool kJoin>
void MoveRuns(Launch& launch, int64_t bytes, int64_t rows, int count, void* const* parts, const int64_t* runs,
              void* whole) {
  int64_t width = AlignedWidth(bytes, whole);
  int64_t total = 0;
  for (int k = 0; k < count; ++k) {
    total += runs[k];
    if (runs[k] > 0) width = std::min(AlignedWidth(bytes, parts[k]), DividingWidth(width, runs[k]));
  }
  if (rows == 0 || total == 0) return;
  int64_t begin = 0;  // of the table's first run in the row
  for (int next = 0; next < count;) {
    RunTable table;
    int64_t length = 0;
    for (; next < count && table.count < kMostRuns; ++next) {
      if (runs[next] == 0) continue;
      length += runs[next] / width;
      table.at[table.count] = parts[next];
      table.end[table.count++] = length;
    }
    if (length == 0) return;
    DispatchBytes(bytes * width, [&](auto tag) {
      using T = decltype(tag);
      RunsKernel<T, kJoin><<<BlocksFor(rows * length), kThreads, 0, launch.stream()>>>(
          table, rows, Divider(length), total / width, static_cast<T*>(whole) + begin);
    });
    CheckLaunch("a concatenation");
    begin += length;
  }
}

template <typename T>
__global__ void PadKernel(PadMap map, T fill, T* to, const T* from) {
  for (int64_t i = ThreadIndex(); i < map.elements; i += ThreadCount()) {
    const int64_t source = map.Source(i);
    to[i] = source < 0 ? fill : from[source];
  }
}

template <typename T>
__global__ void GatherKernel(GatherMap map, IndexReader indices, const T* params, T* to) {
  for (int64_t i = ThreadIndex(); i < map.elements; i += ThreadCount()) {
    const int64_t source = map.Source(i, indices);
    to[i] = source < 0 ? T{} : params[source];
  }
}

template <typename T>
__global__ void GatherNdKernel(CoordinateMap map, int64_t elements, Divider row_elements, IndexReader indices,
                               const T* params, T* to) {
  for (int64_t i = ThreadIndex(); i < elements; i += ThreadCount()) {
    int64_t row = i;
    const int64_t column = row_elements.Split(row);
    const int64_t source = map.RowOf(row, indices);
    to[i] = source < 0 ? T{} : params[source * row_elements.divisor() + column];
  }
}

template <typename T>
__global__ void OneHotKernel(int64_t elements, Divider suffix, Divider depth, IndexReader indices,
                             const T* on, const T* off, T* to) {
  const T hot = *on;
  const T cold = *off;
  for (int64_t i = ThreadIndex(); i < elements; i += ThreadCount()) {
    int64_t prefix = i;
    const int64_t column = suffix.Split(prefix);
    const int64_t number = depth.Split(prefix);
    to[i] = indices[prefix * suffix.divisor() + column] == number ? hot : cold;
  }
}

template <typename T>
__global__ void DiagKernel(int64_t n, Divider size, T* to, const T* from) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) {
    int64_t row = i;
    const int64_t column = size.Split(row);
    to[i] = row == column ? from[row] : T{};
  }
}

template <typename T>
__global__ void DiagPartKernel(int64_t n, T* to, const T* from) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) to[i] = from[i * n + i];
}

template <typename T>
__global__ void BandKernel(int64_t n, Divider rows, Divider columns, int64_t lower, int64_t upper, T* to,
                           const T* from) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) {
    int64_t at = i;
    const int64_t column = columns.Split(at);
    const int64_t row = rows.Split(at);
    to[i] = row - column <= lower && column - row <= upper ? from[i] : T{};
  }
}

template <typename T>
__global__ void RangeKernel(int64_t n, T start, T delta, T* to) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) to[i] = start + static_cast<T>(i) * delta;
}

void Fill(Launch& launch, int64_t bytes, int64_t n, void* to, const void* from, const void* host_value) {
  if (n == 0) return;
  DispatchBytes(bytes, [&](auto tag) {
    using T = decltype(tag);
    T value{};
    if (host_value != nullptr) std::memcpy(&value, host_value, sizeof value);
    FillKernel<T><<<BlocksFor(n), kThreads, 0, launch.stream()>>>(n, static_cast<T*>(to),
                                                                  static_cast<const T*>(from), value);
  });
  CheckLaunch("Fill");
}

}  // namespace

void CopyBytes(Launch& launch, void* to, const void* from, int64_t bytes) {
  if (bytes == 0 || to == from) return;
  Check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, launch.stream()),
        "a copy on the device");
}

void ZeroBytes(Launch& launch, void* to, int64_t bytes) {
  if (bytes == 0) return;
  Check(cudaMemsetAsync(to, 0, static_cast<size_t>(bytes), launch.stream()), "clearing memory");
}

void CopyFromHost(Launch& launch, void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  Check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, launch.stream()),
        "a copy to the device");
}

void RunFill(Launch& launch, int64_t element_bytes, int64_t n, void* to, const void* value) {
  Fill(launch, element_bytes, n, to, value, nullptr);
}

void RunFillFromHost(Launch& launch, int64_t element_bytes, int64_t n, void* to, const void* value) {
  Fill(launch, element_bytes, n, to, nullptr, value);
}

void RunStridedCopy(Launch& launch, int64_t element_bytes, const CopyMap& map, void* to, const void* from) {
  if (map.elements == 0) return;
  const int64_t width = map.Widest(AlignedWidth(element_bytes, to, from));
  const CopyMap wide = map.Widened(width);
  const int row_dim = wide.TransposedDim();
  DispatchBytes(element_bytes * width, [&](auto tag) {
    using T = decltype(tag);
    T* out = static_cast<T*>(to);
    const T* in = static_cast<const T*>(from);
    if (row_dim < 0 || wide.extent[row_dim] < 8 || wide.extent[wide.dims - 1] < 8) {
      StridedCopyKernel<T><<<BlocksFor(wide.elements), kThreads, 0, launch.stream()>>>(wide, out, in);
      return;
    }
    const TileMap tiles = MakeTileMap(wide, row_dim);
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(tiles.tiles(), int64_t{1} << 20));
    TransposeKernel<T>
        <<<blocks, dim3(TileMap::kTile, kTileRows), 0, launch.stream()>>>(tiles, tiles.tiles(), out, in);
  });
  CheckLaunch("a strided copy");
}

void RunConcat(Launch& launch, int64_t element_bytes, int64_t rows, int count, const void* const* parts,
               const int64_t* runs, void* whole) {
  MoveRuns<true>(launch, element_bytes, rows, count, const_cast<void* const*>(parts), runs, whole);
}

void RunSplit(Launch& launch, int64_t element_bytes, int64_t rows, int count, void* const* parts,
              const int64_t* runs, const void* whole) {
  MoveRuns<false>(launch, element_bytes, rows, count, parts, runs, const_cast<void*>(whole));
}

void RunPad(Launch& launch, int64_t element_bytes, const PadMap& map, const void* fill, void* to,
            const void* from) {
  if (map.elements == 0) return;
  DispatchBytes(element_bytes, [&](auto tag) {
    using T = decltype(tag);
    T value{};
    if (fill != nullptr) std::memcpy(&value, fill, sizeof value);
    PadKernel<T><<<BlocksFor(map.elements), kThreads, 0, launch.stream()>>>(map, value, static_cast<T*>(to),
                                                                            static_cast<const T*>(from));
  });
  CheckLaunch("Pad");
}

void RunGather(Launch& launch, int64_t element_bytes, int64_t batch, int64_t outer, int64_t dimension,
               int64_t inner, int64_t per_batch, IndexReader indices, const void* params, void* to) {
  const int64_t elements = batch * outer * per_batch * inner;
  if (elements == 0) return;
  const int64_t width = DividingWidth(AlignedWidth(element_bytes, to, params), inner);
  GatherMap map;
  map.elements = elements / width;
  map.dimension = dimension;
  map.inner = Divider(inner / width);
  map.per_batch = Divider(per_batch);
  map.outer = Divider(outer);
  DispatchBytes(element_bytes * width, [&](auto tag) {
    using T = decltype(tag);
    GatherKernel<T><<<BlocksFor(map.elements), kThreads, 0, launch.stream()>>>(
        map, indices, static_cast<const T*>(params), static_cast<T*>(to));
  });
  CheckLaunch("Gather");
}

void RunGatherNd(Launch& launch, int64_t element_bytes, const CoordinateMap& map, int64_t rows,
                 int64_t row_elements, IndexReader indices, const void* params, void* to) {
  if (rows * row_elements == 0) return;
  const int64_t width = DividingWidth(AlignedWidth(element_bytes, to, params), row_elements);
  const int64_t elements = rows * row_elements / width;
  DispatchBytes(element_bytes * width, [&](auto tag) {
    using T = decltype(tag);
    GatherNdKernel<T><<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(
        map, elements, Divider(row_elements / width), indices, static_cast<const T*>(params),
        static_cast<T*>(to));
  });
  CheckLaunch("GatherNd");
}

void RunOneHot(Launch& launch, int64_t element_bytes, int64_t prefix, int64_t depth, int64_t suffix,
               IndexReader indices, const void* on, const void* off, void* to) {
  const int64_t elements = prefix * depth * suffix;
  if (elements == 0) return;
  DispatchBytes(element_bytes, [&](auto tag) {
    using T = decltype(tag);
    OneHotKernel<T><<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(
        elements, Divider(suffix), Divider(depth), indices, static_cast<const T*>(on),
        static_cast<const T*>(off), static_cast<T*>(to));
  });
  CheckLaunch("OneHot");
}

void RunDiag(Launch& launch, int64_t element_bytes, int64_t n, void* to, const void* from) {
  if (n == 0) return;
  DispatchBytes(element_bytes, [&](auto tag) {
    using T = decltype(tag);
    DiagKernel<T><<<BlocksFor(n * n), kThreads, 0, launch.stream()>>>(n * n, Divider(n), static_cast<T*>(to),
                                                                      static_cast<const T*>(from));
  });
  CheckLaunch("Diag");
}

void RunDiagPart(Launch& launch, int64_t element_bytes, int64_t n, void* to, const void* from) {
  if (n == 0) return;
  DispatchBytes(element_bytes, [&](auto tag) {
    using T = decltype(tag);
    DiagPartKernel<T>
        <<<BlocksFor(n), kThreads, 0, launch.stream()>>>(n, static_cast<T*>(to), static_cast<const T*>(from));
  });
  CheckLaunch("DiagPart");
}

void RunBand(Launch& launch, int64_t element_bytes, int64_t elements, int64_t rows, int64_t columns,
             int64_t lower, int64_t upper, void* to, const void* from) {
  if (elements == 0) return;
  DispatchBytes(element_bytes, [&](auto tag) {
    using T = decltype(tag);
    BandKernel<T><<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(
        elements, Divider(rows), Divider(columns), lower, upper, static_cast<T*>(to),
        static_cast<const T*>(from));
  });
  CheckLaunch("MatrixBandPart");
}

template <typename T>
void RunRange(Launch& launch, int64_t n, T start, T delta, T* to) {
  if (n == 0) return;
  RangeKernel<T><<<BlocksFor(n), kThreads, 0, launch.stream()>>>(n, start, delta, to);
  CheckLaunch("Range");
}

template void RunRange<float>(Launch&, int64_t, float, float, float*);
template void RunRange<double>(Launch&, int64_t, double, double, double*);
template void RunRange<int32_t>(Launch&, int64_t, int32_t, int32_t, int32_t*);
template void RunRange<int64_t>(Launch&, int64_t, int64_t, int64_t, int64_t*);

}  // namespace lanescope::exec::cuda
