// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/tensor_access.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace lanescope::exec {
namespace {

constexpr int64_t kBlockBytes = 1 << 18;

int64_t GrainOf(DataType dtype) { return std::max<int64_t>(1, kBlockBytes / StepBytes(dtype)); }

int64_t IntAt(const TensorRef& tensor, int64_t i) {
  if (tensor.dtype == DataType::kInt32) return tensor.as<int32_t>()[i];
  if (tensor.dtype == DataType::kInt64) return tensor.as<int64_t>()[i];
  Throw(Code::kInvalidArgument, "expected an int32 or int64 tensor, not {}", DataTypeName(tensor.dtype));
}

}  // namespace

std::vector<int64_t> ReadInts(const TensorRef& tensor) {
  std::vector<int64_t> values(static_cast<size_t>(tensor.NumElements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = IntAt(tensor, static_cast<int64_t>(i));
  return values;
}

ops::Elements ReadElements(const TensorRef& tensor) {
  ops::Elements elements(static_cast<size_t>(tensor.NumElements()));
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = ops::Exactly(IntAt(tensor, static_cast<int64_t>(i)));
  return elements;
}

ops::Numbers NumbersOf(const TensorRef& tensor) {
  if (!ops::IsSmall(tensor.shape)) return {tensor.shape, std::nullopt};
  return {tensor.shape, ReadElements(tensor)};
}

int64_t ReadInt(const TensorRef& tensor, std::string_view what) {
  if (tensor.NumElements() != 1) RequireScalar(what, tensor);
  return IntAt(tensor, 0);
}

void WriteInts(KernelContext& context, int output, const std::vector<int64_t>& values) {
  ShapeOutput(context, output, Shape{static_cast<int64_t>(values.size())});
  const TensorRef& tensor = context.output(output);
  for (size_t i = 0; i < values.size(); ++i) {
    if (tensor.dtype == DataType::kInt64) {
      tensor.as<int64_t>()[i] = values[i];
      continue;
    }
    if (values[i] > std::numeric_limits<int32_t>::max() || values[i] < std::numeric_limits<int32_t>::min()) {
      Throw(Code::kInvalidArgument, "{} does not fit an int32 tensor; ask for an int64 one", values[i]);
    }
    tensor.as<int32_t>()[i] = static_cast<int32_t>(values[i]);
  }
}

Shape ReadShape(const TensorRef& tensor) { return ops::ShapeOf(NumbersOf(tensor)); }

bool StartsWith(const Shape& shape, const Shape& prefix) {
  bool same = prefix.rank() <= shape.rank();
  for (int d = 0; same && d < prefix.rank(); ++d) same = shape[d] == prefix[d];
  return same;
}

int64_t SizeOfDims(const Shape& shape, int first, int last) {
  int64_t size = 1;
  for (int d = first; d < last; ++d) size *= shape[d];
  return size;
}

std::array<int64_t, Shape::kMaxRank> StridesOf(const Shape& shape) {
  std::array<int64_t, Shape::kMaxRank> strides{};
  int64_t stride = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    strides[static_cast<size_t>(d)] = stride;
    stride *= shape[d];
  }
  return strides;
}

void ShapeOutput(KernelContext& context, int output, const Shape& shape) {
  if (!(context.output(output).shape == shape)) context.SetOutputShape(output, shape);
}

std::string Coordinates(const Shape& shape, int64_t flat_index) {
  std::vector<std::string> parts;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    const int64_t size = std::max<int64_t>(1, shape[d]);
    parts.push_back(std::to_string(flat_index % size));
    flat_index /= size;
  }
  std::string text;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (!text.empty()) text += ',';
    text += *part;
  }
  return text;
}

int64_t StepBytes(DataType dtype) {
  return static_cast<int64_t>(dtype == DataType::kString ? sizeof(std::string) : ElementSize(dtype));
}

void CopyElements(DataType dtype, void* destination, const void* source, int64_t count, WorkerTeam& team) {
  if (destination == source || count == 0) return;
  team.ParallelFor(count, GrainOf(dtype), [&](int64_t begin, int64_t end) {
    if (dtype == DataType::kString) {
      std::copy(static_cast<const std::string*>(source) + begin,
                static_cast<const std::string*>(source) + end,
                static_cast<std::string*>(destination) + begin);
    } else {
      std::memmove(ElementAt(dtype, destination, begin), ElementAt(dtype, source, begin),
                   static_cast<size_t>((end - begin) * StepBytes(dtype)));
    }
  });
}

void CopyTensor(KernelContext& context, int input, int output) {
  const TensorRef& source = context.input(input);
  ShapeOutput(context, output, source.shape);
  CopyElements(source.dtype, context.output(output).data, source.data, source.NumElements(), context.team());
}

void FillElements(DataType dtype, void* destination, const void* value, int64_t count, WorkerTeam& team) {
  if (count == 0) return;
  DispatchBySize(dtype, [&](auto tag) {
    using T = decltype(tag);
    T* out = static_cast<T*>(destination);
    const T element = *static_cast<const T*>(value);
    team.ParallelFor(count, GrainOf(dtype),
                     [&](int64_t begin, int64_t end) { std::fill(out + begin, out + end, element); });
  });
}

void ZeroElements(DataType dtype, void* destination, int64_t count, WorkerTeam& team) {
  if (dtype == DataType::kString) {
    const std::string empty;
    FillElements(dtype, destination, &empty, count, team);
    return;
  }
  const Bytes16 zero{0, 0};
  FillElements(dtype, destination, &zero, count, team);
}

void ThrowUnsupportedType(std::string_view op, DataType dtype) {
  Throw(Code::kUnimplemented, "{} has no kernel for {} on this device; cast, or place it on another", op,
        DataTypeName(dtype));
}

LoopType LoopTypeOf(std::string_view op, DataType dtype) {
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
      ThrowUnsupportedType(op, dtype);
  }
}

}  // namespace lanescope::exec
