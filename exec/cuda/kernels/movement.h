// SPDX-License-Identifier: Apache-2.0
// Bodies that move elements on device memory without arithmetic. Sizes are in bytes of one element: 1, 2, 4,
// 8 or 16.
#pragma once

#include <cstdint>

#include "exec/cuda/kernels/copy_map.h"
#include "exec/cuda/kernels/index_reader.h"
#include "exec/cuda/kernels/pad_map.h"
#include "exec/kernels/mirror_pad_grad.h"

namespace lanescope::exec::cuda {

class Launch;

void CopyBytes(Launch& launch, void* to, const void* from, int64_t bytes);
void ZeroBytes(Launch& launch, void* to, int64_t bytes);
// From pinned host memory.
void CopyFromHost(Launch& launch, void* to, const void* from, int64_t bytes);
// Repeats the element at `value`, in device or in host memory.
void RunFill(Launch& launch, int64_t element_bytes, int64_t n, void* to, const void* value);
void RunFillFromHost(Launch& launch, int64_t element_bytes, int64_t n, void* to, const void* value);

void RunStridedCopy(Launch& launch, int64_t element_bytes, const CopyMap& map, void* to, const void* from);

// Rows of several tensors side by side: row r of the whole is row r of parts 0, 1, ... of runs[k] elements
// each.
void RunConcat(Launch& launch, int64_t element_bytes, int64_t rows, int count, const void* const* parts,
               const int64_t* runs, void* whole);
void RunSplit(Launch& launch, int64_t element_bytes, int64_t rows, int count, void* const* parts,
              const int64_t* runs, const void* whole);

// `fill` points to a host value.
void RunPad(Launch& launch, int64_t element_bytes, const PadMap& map, const void* fill, void* to,
            const void* from);

// Elements of indices out of range become zeros. `inner` of the map counts elements.
void RunGather(Launch& launch, int64_t element_bytes, int64_t batch, int64_t outer, int64_t dimension,
               int64_t inner, int64_t per_batch, IndexReader indices, const void* params, void* to);
void RunGatherNd(Launch& launch, int64_t element_bytes, const CoordinateMap& map, int64_t rows,
                 int64_t row_elements, IndexReader indices, const void* params, void* to);

// indices [prefix, suffix] to [prefix, depth, suffix]; `on` and `off` are in device memory.
void RunOneHot(Launch& launch, int64_t element_bytes, int64_t prefix, int64_t depth, int64_t suffix,
               IndexReader indices, const void* on, const void* off, void* to);
// to[i * n + i] = from[i], zeros elsewhere; and back.
void RunDiag(Launch& launch, int64_t element_bytes, int64_t n, void* to, const void* from);
void RunDiagPart(Launch& launch, int64_t element_bytes, int64_t n, void* to, const void* from);

// Keeps a band of matrices of `rows` x `columns`, `elements` in all: diagonals from `lower` below to `upper`
// above the main one, zeros elsewhere.
void RunBand(Launch& launch, int64_t element_bytes, int64_t elements, int64_t rows, int64_t columns,
             int64_t lower, int64_t upper, void* to, const void* from);

// T: float or double.
template <typename T>
void RunMirrorPadGrad(Launch& launch, const MirrorPadGradMap& map, int64_t elements, T* to, const T* padded);

// to[i] = start + i * delta.
template <typename T>
void RunRange(Launch& launch, int64_t n, T start, T delta, T* to);

}  // namespace lanescope::exec::cuda
