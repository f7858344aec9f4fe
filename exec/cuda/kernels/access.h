// SPDX-License-Identifier: Apache-2.0
// Common parts of this folder's ops: the launch behind a context, and readers of tensors. Ops are compiled by
// the host compiler and see CUDA only through the bodies' headers.
#pragma once

#include <memory>

#include "exec/cuda/kernels/index_reader.h"
#include "exec/cuda/kernels/window_index.h"
#include "exec/kernels/gather_plan.h"
#include "exec/kernels/window.h"

namespace lanescope::exec::cuda {

class Launch;

// The launch that Compute is called for.
Launch& LaunchOf(const KernelContext& context);
// Pinned host memory of this command; see Launch::Staging.
void* StagingOf(const KernelContext& context, int64_t bytes);
// Device memory for this launch alone; see Launch::Scratch.
void* ScratchOf(const KernelContext& context, int64_t bytes);

// Indices in device memory; throws Unimplemented for anything but int32 and int64.
IndexReader ReaderOf(std::string_view op, const TensorRef& indices);

// Where rows of `shape` that are named by coordinates lie.
CoordinateMap MapOf(const CoordinateRows& rows, const Shape& shape);

inline int64_t ElementBytes(DataType dtype) { return static_cast<int64_t>(ElementSize(dtype)); }
inline int64_t BytesOf(const TensorRef& tensor) { return tensor.NumElements() * ElementBytes(tensor.dtype); }

// A window's axis as device code takes it.
WindowAxis AxisOf(const WindowDim& dim);

// Serves a node by its kernel for host memory: for ops that touch no element in device memory.
std::unique_ptr<Kernel> MakeHostKernel(const Node& node);

// A kernel that waits for the device or depends on host state.
class UnrecordedKernel : public Kernel {
 public:
  bool replayable() const override { return false; }
};

// Each file of ops registers its own; called by RegisterCudaKernels().
void RegisterElementWiseOps(KernelRegistry& registry);
void RegisterReductionOps(KernelRegistry& registry);
void RegisterLinearOps(KernelRegistry& registry);
void RegisterProductOps(KernelRegistry& registry);
void RegisterNnOps(KernelRegistry& registry);
void RegisterBatchNormOps(KernelRegistry& registry);
void RegisterVolumeOps(KernelRegistry& registry);
void RegisterImageOps(KernelRegistry& registry);   // resized images, reversed sequences
void RegisterArrayOps(KernelRegistry& registry);   // identities, constants, fills, gathers
void RegisterLayoutOps(KernelRegistry& registry);  // transposes, slices, pads, concatenations, splits
void RegisterSparseOps(KernelRegistry& registry);  // Unique, segments, partitions, ScatterNd
void RegisterStateOps(KernelRegistry& registry);   // variables and their updates by row
void RegisterOptimizerOps(KernelRegistry& registry);
void RegisterRandomOps(KernelRegistry& registry);

}  // namespace lanescope::exec::cuda
