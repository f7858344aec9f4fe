// Every element to a new place: Transpose, Tile, BroadcastTo.
#include "exec/kernels/array_kernels.h"
#include "exec/kernels/strided_copy.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

std::vector<int64_t> ReadPermutation(const TensorRef& perm, int rank) {
  std::vector<int64_t> axes = ReadInts(perm);
  if (perm.shape.rank() != 1 || axes.size() != static_cast<size_t>(rank)) {
    Throw(Code::kInvalidArgument,
          "transpose expects a vector of size {}. But input(1) is a vector of size {}", rank, axes.size());
  }
  std::vector<bool> used(axes.size(), false);
  for (int64_t& axis : axes) {
    if (axis < -rank || axis >= rank) {
      Throw(Code::kInvalidArgument, "{} is out of range [0 .. {})", axis, rank);
    }
    if (axis < 0) axis += rank;
    if (used[static_cast<size_t>(axis)]) {
      Throw(Code::kInvalidArgument, "the permutation names dimension {} twice", axis);
    }
    used[static_cast<size_t>(axis)] = true;
  }
  return axes;
}

void ComputeTranspose(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int rank = x.shape.rank();
  const std::vector<int64_t> axes = ReadPermutation(context.input(1), rank);
  Shape shape;
  for (const int64_t axis : axes) shape.Append(x.shape[static_cast<int>(axis)]);
  ShapeOutput(context, 0, shape);
  const auto source = StridesOf(x.shape);
  const auto destination = StridesOf(shape);
  StridedCopy copy;
  for (int d = 0; d < rank; ++d) {
    const auto at = static_cast<size_t>(d);
    copy.AddDim(shape[d], destination[at], source[static_cast<size_t>(axes[at])]);
  }
  copy.Run(x.dtype, context.output().data, x.data, context.team());
}

// Of real numbers: they are their own conjugates.
std::unique_ptr<Kernel> MakeConjugateTranspose(const Node& node) {
  const DataType dtype = node.TypeAttr("T");
  if (dtype == DataType::kComplex64 || dtype == DataType::kComplex128) ThrowUnsupportedType(node.op, dtype);
  return MakeFunctionKernel<ComputeTranspose>(node);
}

void ComputeTile(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int rank = x.shape.rank();
  const std::vector<int64_t> multiples = ReadInts(context.input(1));
  if (multiples.size() != static_cast<size_t>(rank)) {
    Throw(Code::kInvalidArgument, "Expected multiples argument to be a vector of length {} but got length {}",
          rank, multiples.size());
  }
  Shape shape;
  for (int d = 0; d < rank; ++d) {
    const int64_t times = multiples[static_cast<size_t>(d)];
    if (times < 0) Throw(Code::kInvalidArgument, "Expected multiples[{}] >= 0, but got {}", d, times);
    shape.Append(MulDims(x.shape[d], times));
  }
  ShapeOutput(context, 0, shape);
  const auto source = StridesOf(x.shape);
  const auto destination = StridesOf(shape);
  StridedCopy copy;
  for (int d = 0; d < rank; ++d) {
    const auto at = static_cast<size_t>(d);
    copy.AddDim(multiples[at], x.shape[d] * destination[at], 0);
    copy.AddDim(x.shape[d], destination[at], source[at]);
  }
  copy.Run(x.dtype, context.output().data, x.data, context.team());
}

void ComputeBroadcastTo(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const Shape shape = ReadShape(context.input(1));
  const int added = shape.rank() - x.shape.rank();
  bool compatible = added >= 0;
  for (int d = 0; compatible && d < x.shape.rank(); ++d) {
    compatible = x.shape[d] == 1 || x.shape[d] == shape[added + d];
  }
  if (!compatible) {
    Throw(Code::kInvalidArgument, "Incompatible shapes: {} vs. {}", x.shape.ToString(), shape.ToString());
  }
  ShapeOutput(context, 0, shape);
  const auto source = StridesOf(x.shape);
  const auto destination = StridesOf(shape);
  StridedCopy copy;
  for (int d = 0; d < shape.rank(); ++d) {
    const bool repeated = d < added || x.shape[d - added] == 1;
    copy.AddDim(shape[d], destination[static_cast<size_t>(d)],
                repeated ? 0 : source[static_cast<size_t>(d - added)]);
  }
  copy.Run(x.dtype, context.output().data, x.data, context.team());
}

}  // namespace

void RegisterLayoutKernels(KernelRegistry& registry) {
  registry.Register("Transpose", MakeFunctionKernel<ComputeTranspose>);
  registry.Register("ConjugateTranspose", MakeConjugateTranspose);
  registry.Register("Tile", MakeFunctionKernel<ComputeTile>);
  registry.Register("BroadcastTo", MakeFunctionKernel<ComputeBroadcastTo>);
}

}  // namespace lanescope::exec
