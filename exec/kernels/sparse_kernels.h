// SPDX-License-Identifier: Apache-2.0
// The files of the sparse family; RegisterSparseKernels calls them.
#pragma once

#include "exec/device/kernel.h"

namespace lanescope::exec {

void RegisterUniqueKernels(KernelRegistry& registry);         // Unique, UniqueWithCounts, ListDiff, Where
void RegisterSegmentKernels(KernelRegistry& registry);        // UnsortedSegment*, Segment*, SparseSegment*
void RegisterPartitionKernels(KernelRegistry& registry);      // DynamicStitch, DynamicPartition
void RegisterScatterNdKernels(KernelRegistry& registry);      // ScatterNd, ScatterNd*, TensorScatter*
void RegisterSparseToDenseKernels(KernelRegistry& registry);  // SparseToDense

}  // namespace lanescope::exec
