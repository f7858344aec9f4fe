// SPDX-License-Identifier: Apache-2.0
// Readers, shape checks and type dispatch that data-moving kernels share.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/ops/common.h"
#include "core/graph/ops/shape_rules.h"
#include "exec/device/kernel.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {

template <typename K>
std::unique_ptr<Kernel> MakeKernel(const Node& node) {
  return std::make_unique<K>(node);
}

// A kernel without attributes or state: a function of its launch.
template <void (*compute)(KernelContext&)>
std::unique_ptr<Kernel> MakeFunctionKernel(const Node&) {
  class FunctionKernel : public Kernel {
    void Compute(KernelContext& context) override { compute(context); }
  };
  return std::make_unique<FunctionKernel>();
}

// An int32 or int64 tensor as a list or a number; InvalidArgument for other types or, for the number, when it
// does not hold exactly one element.
std::vector<int64_t> ReadInts(const TensorRef& tensor);
int64_t ReadInt(const TensorRef& tensor, std::string_view what);
// As the rules of core/graph/ops take it.
ops::Elements ReadElements(const TensorRef& tensor);
ops::Numbers NumbersOf(const TensorRef& tensor);
// Writes a list into an int32 or int64 output of shape [values.size()]; throws InvalidArgument when a value
// does not fit.
void WriteInts(KernelContext& context, int output, const std::vector<int64_t>& values);

// The shape that an integer tensor holds, as ops::ShapeOf.
Shape ReadShape(const TensorRef& tensor);

// Throws InvalidArgument unless the tensor has no dimension.
inline void RequireScalar(std::string_view what, const TensorRef& tensor) {
  ops::RequireScalar(what, tensor.shape);
}
template <typename T>
T ScalarOf(const TensorRef& tensor, std::string_view what) {
  RequireScalar(what, tensor);
  return *tensor.as<T>();
}

using ops::CanBroadcast;
using ops::NormalizeAxis;

// Whether the first dimensions of `shape` are `prefix`.
bool StartsWith(const Shape& shape, const Shape& prefix);
// Product of dimensions [first, last) of an exact shape.
int64_t SizeOfDims(const Shape& shape, int first, int last);
// Row-major strides in elements.
std::array<int64_t, Shape::kMaxRank> StridesOf(const Shape& shape);

// Gives the output its exact shape unless compiling did so already.
void ShapeOutput(KernelContext& context, int output, const Shape& shape);

// "2,1" for element 5 of shape [2,3]: how messages point at an index of several dimensions.
std::string Coordinates(const Shape& shape, int64_t flat_index);

// Bytes from one element to the next in memory: std::string objects for strings.
int64_t StepBytes(DataType dtype);
// Null for an empty tensor's memory.
inline const char* ElementAt(DataType dtype, const void* data, int64_t index) {
  return data == nullptr ? nullptr : static_cast<const char*>(data) + index * StepBytes(dtype);
}
inline char* ElementAt(DataType dtype, void* data, int64_t index) {
  return const_cast<char*>(ElementAt(dtype, static_cast<const void*>(data), index));
}

// Moves `count` consecutive elements, split over the team. Source and destination may be the same memory.
void CopyElements(DataType dtype, void* destination, const void* source, int64_t count, WorkerTeam& team);
void CopyTensor(KernelContext& context, int input, int output);
// Repeats the element at `value`.
void FillElements(DataType dtype, void* destination, const void* value, int64_t count, WorkerTeam& team);
// All-zero elements: 0, false, "".
void ZeroElements(DataType dtype, void* destination, int64_t count, WorkerTeam& team);

struct Bytes16 {
  uint64_t low, high;
};

// Unimplemented, naming the op: its device has no kernel of it for this type.
[[noreturn]] void ThrowUnsupportedType(std::string_view op, DataType dtype);

// The loops' index of an arithmetic type; throws Unimplemented where there is none.
LoopType LoopTypeOf(std::string_view op, DataType dtype);

// Calls fn(T{}) with a type that moves like dtype: an unsigned integer of its size, or std::string.
template <typename Fn>
void DispatchBySize(DataType dtype, Fn&& fn) {
  if (dtype == DataType::kString) return fn(std::string{});
  switch (ElementSize(dtype)) {
    case 1:
      return fn(uint8_t{});
    case 2:
      return fn(uint16_t{});
    case 4:
      return fn(uint32_t{});
    case 8:
      return fn(uint64_t{});
    case 16:
      return fn(Bytes16{});
    default:
      ThrowUnsupportedType("a copy", dtype);
  }
}

// Calls fn(T{}) with the arithmetic type of dtype.
template <typename Fn>
void DispatchNumber(std::string_view op, DataType dtype, Fn&& fn) {
  switch (dtype) {
    case DataType::kFloat:
      return fn(float{});
    case DataType::kDouble:
      return fn(double{});
    case DataType::kInt32:
      return fn(int32_t{});
    case DataType::kInt64:
      return fn(int64_t{});
    default:
      ThrowUnsupportedType(op, dtype);
  }
}

template <typename Fn>
void DispatchReal(std::string_view op, DataType dtype, Fn&& fn) {
  if (dtype == DataType::kFloat) return fn(float{});
  if (dtype == DataType::kDouble) return fn(double{});
  ThrowUnsupportedType(op, dtype);
}

// Calls fn(Index{}) for an int32 or int64 tensor of indices.
template <typename Fn>
void DispatchIndex(std::string_view op, DataType dtype, Fn&& fn) {
  if (dtype == DataType::kInt32) return fn(int32_t{});
  if (dtype == DataType::kInt64) return fn(int64_t{});
  ThrowUnsupportedType(op, dtype);
}

}  // namespace lanescope::exec
