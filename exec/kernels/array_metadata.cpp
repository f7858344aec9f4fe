// SPDX-License-Identifier: Apache-2.0
// Arithmetic on shapes: what Shape and its kin say, and which dimensions broadcasting repeats.
#include <algorithm>

#include "exec/kernels/array_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

void ComputeShapeN(KernelContext& context) {
  for (int i = 0; i < context.num_outputs(); ++i) {
    const std::span<const Dim> dims = context.input(i).shape.dims();
    WriteInts(context, i, {dims.begin(), dims.end()});
  }
}

void WriteScalarInt(KernelContext& context, int64_t value) {
  ShapeOutput(context, 0, Shape{});
  if (context.output().dtype == DataType::kInt64) {
    *context.output().as<int64_t>() = value;
  } else if (value <= std::numeric_limits<int32_t>::max()) {
    *context.output().as<int32_t>() = static_cast<int32_t>(value);
  } else {
    Throw(Code::kInvalidArgument, "Number of elements {} does not fit int32; ask for out_type int64", value);
  }
}

void ComputeSize(KernelContext& context) { WriteScalarInt(context, context.input(0).NumElements()); }
void ComputeRank(KernelContext& context) { WriteScalarInt(context, context.input(0).shape.rank()); }

void ComputeVariableShape(KernelContext& context) {
  const std::span<const Dim> dims = context.variable(0).tensor.shape.dims();
  WriteInts(context, 0, {dims.begin(), dims.end()});
}

std::string ListText(const std::vector<int64_t>& values, char separator = ',') {
  std::string text = "[";
  for (const int64_t value : values) {
    if (text.size() > 1) text += separator;
    text += std::to_string(value);
  }
  text += ']';
  return text;
}

// The dimensions that a vector holds.
std::vector<int64_t> ReadDims(const TensorRef& tensor) {
  if (tensor.shape.rank() != 1) {
    Throw(Code::kInvalidArgument, "a shape must be a vector, not a tensor of shape {}",
          tensor.shape.ToString());
  }
  std::vector<int64_t> dims = ReadInts(tensor);
  for (const int64_t dim : dims) {
    if (dim < 0) Throw(Code::kInvalidArgument, "{} is not a dimension", dim);
  }
  return dims;
}

// Dimension `d` of a shape that is padded in front with ones to `rank` dimensions.
int64_t PaddedDim(const std::vector<int64_t>& shape, size_t rank, size_t d) {
  return d < rank - shape.size() ? 1 : shape[d - (rank - shape.size())];
}

std::vector<int64_t> Broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  const size_t rank = std::max(a.size(), b.size());
  std::vector<int64_t> result(rank);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t x = PaddedDim(a, rank, d);
    const int64_t y = PaddedDim(b, rank, d);
    if (x != y && x != 1 && y != 1) {
      Throw(Code::kInvalidArgument, "Incompatible shapes: {} vs. {}", ListText(a), ListText(b));
    }
    result[d] = x == 1 ? y : x;
  }
  return result;
}

void ComputeBroadcastArgs(KernelContext& context) {
  WriteInts(context, 0, Broadcast(ReadDims(context.input(0)), ReadDims(context.input(1))));
}

// The dimensions to sum a gradient over, for each operand. As in TensorFlow a dimension of one on both sides
// is listed for both, unless the shapes are equal altogether.
void ComputeBroadcastGradientArgs(KernelContext& context) {
  const std::vector<int64_t> a = ReadDims(context.input(0));
  const std::vector<int64_t> b = ReadDims(context.input(1));
  const size_t rank = Broadcast(a, b).size();
  if (rank > Shape::kMaxRank) {
    Throw(Code::kUnimplemented, "shapes of {} dimensions; at most {} are supported", rank, Shape::kMaxRank);
  }
  std::vector<int64_t> reduce_a;
  std::vector<int64_t> reduce_b;
  for (size_t d = 0; d < rank && a != b; ++d) {
    const int64_t x = PaddedDim(a, rank, d);
    const int64_t y = PaddedDim(b, rank, d);
    if (x == 1) reduce_a.push_back(static_cast<int64_t>(d));
    if (y == 1) reduce_b.push_back(static_cast<int64_t>(d));
  }
  WriteInts(context, 0, reduce_a);
  WriteInts(context, 1, reduce_b);
}

void ComputeConcatOffset(KernelContext& context) {
  const int64_t requested = ReadInt(context.input(0), "concat_dim");
  const std::vector<int64_t> first = ReadDims(context.input(1));
  const auto axis = static_cast<size_t>(NormalizeAxis(requested, static_cast<int>(first.size())));
  int64_t offset = 0;
  for (int i = 1; i < context.num_inputs(); ++i) {
    const std::vector<int64_t> shape = ReadDims(context.input(i));
    if (shape.size() != first.size()) {
      Throw(Code::kInvalidArgument, "input {} should contain {} elements, but got {}", i, first.size(),
            shape.size());
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d != axis && shape[d] != first[d]) {
        Throw(
            Code::kInvalidArgument,
            "All dimensions except {} must match. Input {} has shape {} and doesn't match input 0 with shape "
            "{}.",
            axis, i - 1, ListText(shape, ' '), ListText(first, ' '));
      }
    }
    std::vector<int64_t> result(shape.size(), 0);
    result[axis] = offset;
    WriteInts(context, i - 1, result);
    offset = AddDims(offset, shape[axis]);
  }
}

void ComputeInvertPermutation(KernelContext& context) {
  if (context.input(0).shape.rank() != 1) {
    Throw(Code::kInvalidArgument, "invert_permutation expects a 1D vector.");
  }
  const std::vector<int64_t> permutation = ReadInts(context.input(0));
  const auto n = static_cast<int64_t>(permutation.size());
  std::vector<int64_t> inverse(permutation.size(), -1);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t to = permutation[static_cast<size_t>(i)];
    if (to < 0 || to >= n) Throw(Code::kInvalidArgument, "{} is not between 0 and {}", to, n);
    if (inverse[static_cast<size_t>(to)] != -1) {
      Throw(Code::kInvalidArgument, "{} is duplicated in the input.", to);
    }
    inverse[static_cast<size_t>(to)] = i;
  }
  WriteInts(context, 0, inverse);
}

}  // namespace

void RegisterMetadataKernels(KernelRegistry& registry) {
  registry.Register("Shape", MakeFunctionKernel<ComputeShapeN>);
  registry.Register("ShapeN", MakeFunctionKernel<ComputeShapeN>);
  registry.Register("Size", MakeFunctionKernel<ComputeSize>);
  registry.Register("Rank", MakeFunctionKernel<ComputeRank>);
  registry.Register("VariableShape", MakeFunctionKernel<ComputeVariableShape>);
  registry.Register("BroadcastArgs", MakeFunctionKernel<ComputeBroadcastArgs>);
  registry.Register("BroadcastGradientArgs", MakeFunctionKernel<ComputeBroadcastGradientArgs>);
  registry.Register("ConcatOffset", MakeFunctionKernel<ComputeConcatOffset>);
  registry.Register("InvertPermutation", MakeFunctionKernel<ComputeInvertPermutation>);
}

}  // namespace lanescope::exec
