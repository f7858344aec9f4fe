// SPDX-License-Identifier: Apache-2.0
// Bodies for rows that are named by numbers on device memory: sums of rows that share a number, updates by
// number, distinct values. Rows of one number are combined in the order in which they come, by a stable sort:
// results are the same from run to run.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "exec/cuda/kernels/index_reader.h"
#include "exec/kernels/segment_plan.h"

namespace lanescope::exec::cuda {

class Launch;

// target[row_i] = target[row_i] op update_i for i < updates: rows of `inner` elements out of `rows`; updates
// whose row is out of range are left out. update_step: 1, or 0 where one number updates everything. Takes
// scratch memory. Types: float, double, int32, int64.
struct RowUpdates {
  Combine how = Combine::kAdd;
  int64_t rows = 0;
  int64_t updates = 0;
  int64_t inner = 0;
  int64_t update_step = 1;
};
void RunRowUpdates(Launch& launch, const RowUpdates& spec, LoopType type, IndexReader row_of,
                   const void* updates, void* target);
// Updates of rows named by coordinates.
void RunRowUpdatesNd(Launch& launch, const RowUpdates& spec, LoopType type, const CoordinateMap& map,
                     IndexReader coordinates, const void* updates, void* target);

void RunUnsortedSegments(Launch& launch, const UnsortedSegments& spec, LoopType type, IndexReader ids,
                         const void* data, void* result);

// Row i of the segments is data row i, or data row row_of[i].
void RunSortedSegments(Launch& launch, const SortedSegments& spec, LoopType type, IndexReader ids,
                       IndexReader row_of, const void* data, void* result);

// Numbers out of range are left out. Takes scratch memory.
void RunSegmentGrad(Launch& launch, const SegmentGrad& spec, bool doubles, IndexReader row_of,
                    IndexReader ids, const void* grad, void* result);

// As above for the rows that are named alone, in order: `named` gets their numbers, of `index_bytes` each.
// Returns how many there are, which the stream is waited for.
int64_t RunSegmentRowsGrad(Launch& launch, int32_t* staging, const SegmentGrad& spec, bool doubles,
                           IndexReader row_of, IndexReader ids, const void* grad, void* result,
                           int index_bytes, void* named);

// Distinct values of x in order of first occurrence. Returns their number, which the stream is waited for;
// numbers[i] is the place of x[i] among them, counts (may be null) how often each occurs. Values are told
// apart as on the host: -0 equals 0; NaNs of the same bits count as one here.
int64_t RunUnique(Launch& launch, int32_t* staging, DataType dtype, int64_t n, const void* x, void* distinct,
                  int index_bytes, void* numbers, void* counts);

// The elements of x that are not zero. Find waits for the stream; Write then writes their coordinates
// [count, rank] in order.
struct NonZeros {
  int64_t count = 0;
  const int32_t* places = nullptr;  // scratch memory: how many non-zeros come before each element
};
NonZeros FindNonZeros(Launch& launch, int32_t* staging, DataType dtype, int64_t n, const void* x);
void WriteNonZeros(Launch& launch, const NonZeros& found, DataType dtype, int64_t n, const void* x, int rank,
                   const int64_t* extents, int64_t* coordinates);

// Rows dealt out to `parts` by number. Plan waits for the stream and fills first[0 .. parts] (pinned host
// memory): part p has the rows order[first[p] .. first[p + 1]), in scratch memory.
const int32_t* PlanPartition(Launch& launch, int64_t* first, int64_t rows, int64_t parts,
                             IndexReader part_of);

// to[target[i]] = from[i] for rows of `inner` elements; a negative target is left out. Targets come from the
// host, a few at a time, as parameters of the launches.
void RunPlaceRows(Launch& launch, int64_t element_bytes, int64_t rows, int64_t inner, const int64_t* targets,
                  const void* from, void* to);

// Whether any element is NaN (bit 0) or infinite (bit 1); waits for the stream. T: float or double.
int CheckFinite(Launch& launch, int32_t* staging, LoopType type, int64_t n, const void* x);

// The last of n > 0 numbers, which the stream is waited for.
int64_t LastOf(Launch& launch, int64_t* staging, IndexReader numbers, int64_t n);

// Updates sorted by the row that they name, those of one row in their order: order[i] is the number of the
// i-th update, keys[i] its row. Updates whose row is not in [0, rows) come last, with the key `rows`.
struct SortedUpdates {
  const uint64_t* keys;
  const int32_t* order;
  char* reserved;  // the first bytes of the scratch memory, for the caller
};
SortedUpdates SortUpdates(Launch& launch, int64_t reserved_bytes, int64_t rows, int64_t updates,
                          IndexReader row_of);

}  // namespace lanescope::exec::cuda
