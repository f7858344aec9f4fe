// Parts of a tensor: Slice, StridedSlice and its gradient, ReverseV2.
#include "exec/kernels/array_kernels.h"
#include "exec/kernels/strided_copy.h"
#include "exec/kernels/strided_slice_spec.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

void ComputeSlice(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int rank = x.shape.rank();
  const std::vector<int64_t> begin = ReadInts(context.input(1));
  std::vector<int64_t> size = ReadInts(context.input(2));
  if (begin.size() != static_cast<size_t>(rank) || size.size() != static_cast<size_t>(rank)) {
    Throw(Code::kInvalidArgument,
          "Expected begin and size arguments to be 1-D tensors of size {}, but got {} and {} instead.", rank,
          begin.size(), size.size());
  }
  const auto source = StridesOf(x.shape);
  int64_t offset = 0;
  for (int d = 0; d < rank; ++d) {
    const auto at = static_cast<size_t>(d);
    if (begin[at] < 0 || begin[at] > x.shape[d]) {
      Throw(Code::kInvalidArgument, "Expected begin[{}] in [0, {}], but got {}", d, x.shape[d], begin[at]);
    }
    const int64_t rest = x.shape[d] - begin[at];
    if (size[at] == -1) size[at] = rest;
    if (size[at] < 0 || size[at] > rest) {
      Throw(Code::kInvalidArgument, "Expected size[{}] in [0, {}], but got {}", d, rest, size[at]);
    }
    offset += begin[at] * source[at];
  }
  const Shape shape{std::span<const Dim>(size)};
  ShapeOutput(context, 0, shape);
  const auto destination = StridesOf(shape);
  StridedCopy copy;
  for (int d = 0; d < rank; ++d) {
    const auto at = static_cast<size_t>(d);
    copy.AddDim(size[at], destination[at], source[at]);
  }
  copy.Run(x.dtype, context.output().data, ElementAt(x.dtype, static_cast<const void*>(x.data), offset),
           context.team());
}

std::vector<int64_t> DenseStrides(const std::vector<int64_t>& counts) {
  std::vector<int64_t> strides(counts.size());
  int64_t stride = 1;
  for (size_t d = counts.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= counts[d];
  }
  return strides;
}

class StridedSliceKernel : public Kernel {
 public:
  explicit StridedSliceKernel(const Node& node) : masks_(ReadStridedSliceMasks(node)) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const StridedSliceSpec spec = ResolveStridedSlice(
        x.shape, ReadInts(context.input(1)), ReadInts(context.input(2)), ReadInts(context.input(3)), masks_);
    ShapeOutput(context, 0, spec.shape);
    const auto source = StridesOf(x.shape);
    const std::vector<int64_t> destination = DenseStrides(spec.count);
    StridedCopy copy;
    int64_t offset = 0;
    for (size_t d = 0; d < spec.count.size(); ++d) {
      copy.AddDim(spec.count[d], destination[d], spec.count[d] > 1 ? spec.step[d] * source[d] : 0);
      offset += spec.first[d] * source[d];
    }
    copy.Run(x.dtype, context.output().data, ElementAt(x.dtype, static_cast<const void*>(x.data), offset),
             context.team());
  }

 private:
  StridedSliceMasks masks_;
};

// Inputs shape, begin, end, strides, dy: zeros of `shape` with dy where the slice took its elements.
class StridedSliceGradKernel : public Kernel {
 public:
  explicit StridedSliceGradKernel(const Node& node) : masks_(ReadStridedSliceMasks(node)) {}

  void Compute(KernelContext& context) override {
    const Shape shape = ReadShape(context.input(0));
    const TensorRef& dy = context.input(4);
    const StridedSliceSpec spec = ResolveStridedSlice(
        shape, ReadInts(context.input(1)), ReadInts(context.input(2)), ReadInts(context.input(3)), masks_);
    if (!(spec.shape == dy.shape)) {
      Throw(Code::kInvalidArgument, "shape of dy was {} instead of {}", dy.shape.ToString(),
            spec.shape.ToString());
    }
    ShapeOutput(context, 0, shape);
    void* out = context.output().data;
    ZeroElements(dy.dtype, out, shape.NumElements(), context.team());
    const auto destination = StridesOf(shape);
    const std::vector<int64_t> source = DenseStrides(spec.count);
    StridedCopy copy;
    int64_t offset = 0;
    for (size_t d = 0; d < spec.count.size(); ++d) {
      copy.AddDim(spec.count[d], spec.count[d] > 1 ? spec.step[d] * destination[d] : 0, source[d]);
      offset += spec.first[d] * destination[d];
    }
    copy.Run(dy.dtype, ElementAt(dy.dtype, out, offset), dy.data, context.team());
  }

 private:
  StridedSliceMasks masks_;
};

void ComputeReverse(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int rank = x.shape.rank();
  std::vector<bool> reversed(static_cast<size_t>(rank), false);
  for (const int64_t requested : ReadInts(context.input(1))) {
    if (requested < -rank || requested >= rank) {
      Throw(Code::kInvalidArgument, "'axis'[0] = {} is out of valid range [0, {}", requested, rank - 1);
    }
    const auto axis = static_cast<size_t>(requested < 0 ? requested + rank : requested);
    if (reversed[axis]) Throw(Code::kInvalidArgument, "axis {} specified more than once.", axis);
    reversed[axis] = true;
  }
  ShapeOutput(context, 0, x.shape);
  const auto strides = StridesOf(x.shape);
  StridedCopy copy;
  int64_t offset = 0;
  for (int d = 0; d < rank; ++d) {
    const auto at = static_cast<size_t>(d);
    copy.AddDim(x.shape[d], strides[at], reversed[at] ? -strides[at] : strides[at]);
    if (reversed[at]) offset += (x.shape[d] - 1) * strides[at];
  }
  copy.Run(x.dtype, context.output().data, ElementAt(x.dtype, static_cast<const void*>(x.data), offset),
           context.team());
}

}  // namespace

void RegisterSliceKernels(KernelRegistry& registry) {
  registry.Register("Slice", MakeFunctionKernel<ComputeSlice>);
  registry.Register("StridedSlice", MakeKernel<StridedSliceKernel>);
  registry.Register("StridedSliceGrad", MakeKernel<StridedSliceGradKernel>);
  registry.Register("ReverseV2", MakeFunctionKernel<ComputeReverse>);
}

}  // namespace lanescope::exec
