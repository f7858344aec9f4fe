// What the ops of this folder share: the launch behind a context, and readers of tensors. Ops are compiled by
// the host compiler and see CUDA only through the bodies' headers.
#pragma once

#include <memory>

#include "exec/cuda/kernels/index_reader.h"
#include "exec/kernel.h"
#include "exec/kernels/tensor_access.h"
#include "exec/loops/loops.h"

namespace lanescope::exec::cuda {

class Launch;

// Of the launch that Compute is called for.
Launch& LaunchOf(const KernelContext& context);
// Pinned host memory of this command; see Launch::Staging.
void* StagingOf(const KernelContext& context, int64_t bytes);

// The arithmetic type of a dtype; throws Unimplemented where there is none.
LoopType LoopTypeFor(std::string_view op, DataType dtype);
[[noreturn]] void ThrowNoCudaKernel(std::string_view op, DataType dtype);

// Throws InvalidArgument unless the shapes are equal.
void RequireSameShape(std::string_view what, const Shape& a, const Shape& b);
// Throws InvalidArgument unless the tensor has one element.
void RequireScalar(std::string_view what, const TensorRef& tensor);

// Indices in device memory; throws Unimplemented for anything but int32 and int64.
IndexReader ReaderOf(std::string_view op, const TensorRef& indices);

// An index tensor [..., depth] whose rows are coordinates of the first `depth` dimensions of `shape`: the
// map, how many rows it has, how many elements a row names, and the shape of a gather.
struct CoordinatesOf {
  CoordinateMap map;
  int64_t rows = 1;
  int64_t row_elements = 1;
  Shape result_shape;
};
// Throws InvalidArgument where the index is too deep.
CoordinatesOf ResolveCoordinates(std::string_view what, const Shape& indices, const Shape& shape);

inline int64_t ElementBytes(DataType dtype) { return static_cast<int64_t>(ElementSize(dtype)); }

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
void RegisterNnOps(KernelRegistry& registry);
void RegisterBatchNormOps(KernelRegistry& registry);
void RegisterArrayOps(KernelRegistry& registry);   // identities, constants, fills, gathers
void RegisterLayoutOps(KernelRegistry& registry);  // transposes, slices, pads
void RegisterConcatOps(KernelRegistry& registry);  // concatenations, splits
void RegisterSparseOps(KernelRegistry& registry);  // Unique, segments, partitions, ScatterNd
void RegisterStateOps(KernelRegistry& registry);   // variables and their updates by row
void RegisterOptimizerOps(KernelRegistry& registry);
void RegisterRandomOps(KernelRegistry& registry);

}  // namespace lanescope::exec::cuda
