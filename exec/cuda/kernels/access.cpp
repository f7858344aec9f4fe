#include "exec/cuda/kernels/access.h"

namespace lanescope::exec::cuda {

LoopType LoopTypeFor(std::string_view op, DataType dtype) {
  switch (dtype) {
    case DataType::kFloat:
      return LoopType::kFloat;
    case DataType::kDouble:
      return LoopType::kDouble;
    case DataType::kInt32:
      return LoopType::kInt32;
    case DataType::kInt64:
      return LoopType::kInt64;
    default:
      ThrowNoCudaKernel(op, dtype);
  }
}

void ThrowNoCudaKernel(std::string_view op, DataType dtype) {
  Throw(Code::kUnimplemented, "{} has no CUDA kernel for {}; place it on the CPU", op, DataTypeName(dtype));
}

void RequireSameShape(std::string_view what, const Shape& a, const Shape& b) {
  if (a == b) return;
  Throw(Code::kInvalidArgument, "{} must have the same shape, but they have {} and {}", what, a.ToString(),
        b.ToString());
}

void RequireScalar(std::string_view what, const TensorRef& tensor) {
  if (tensor.NumElements() == 1) return;
  Throw(Code::kInvalidArgument, "{} must be a scalar, not of shape {}", what, tensor.shape.ToString());
}

IndexReader ReaderOf(std::string_view op, const TensorRef& indices) {
  if (indices.dtype != DataType::kInt32 && indices.dtype != DataType::kInt64) {
    ThrowNoCudaKernel(op, indices.dtype);
  }
  return {indices.data, static_cast<int>(ElementSize(indices.dtype))};
}

CoordinatesOf ResolveCoordinates(std::string_view what, const Shape& indices, const Shape& shape) {
  if (indices.rank() < 1) Throw(Code::kInvalidArgument, "{} must be at least a vector", what);
  const int64_t depth = indices[indices.rank() - 1];
  if (depth > shape.rank()) {
    Throw(Code::kInvalidArgument, "index innermost dimension length must be <= params rank; saw: {} vs. {}",
          depth, shape.rank());
  }
  CoordinatesOf result;
  result.map.depth = static_cast<int>(depth);
  int64_t stride = 1;
  for (int d = result.map.depth - 1; d >= 0; --d) {
    result.map.extent[d] = shape[d];
    result.map.stride[d] = stride;
    stride *= shape[d];
  }
  for (int d = 0; d + 1 < indices.rank(); ++d) result.result_shape.Append(indices[d]);
  result.rows = result.result_shape.NumElements();
  for (int d = result.map.depth; d < shape.rank(); ++d) {
    result.result_shape.Append(shape[d]);
    result.row_elements *= shape[d];
  }
  return result;
}

std::unique_ptr<Kernel> MakeHostKernel(const Node& node) { return KernelRegistry::Host().Create(node); }

}  // namespace lanescope::exec::cuda
