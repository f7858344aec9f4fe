// SPDX-License-Identifier: Apache-2.0
#include "core/graph/tensor.h"

#include <cstdlib>
#include <new>

namespace lanescope {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 40;
constexpr size_t kAlignment = 64;

// calloc leaves the pages of a large block untouched until somebody writes to them.
std::shared_ptr<std::byte[]> AllocateZeroed(size_t bytes) {
  void* block = std::calloc(bytes + kAlignment, 1);
  if (block == nullptr) throw std::bad_alloc();
  void* aligned = block;
  size_t space = bytes + kAlignment;
  std::align(kAlignment, bytes, aligned, space);
  return {static_cast<std::byte*>(aligned), [block](std::byte*) { std::free(block); }};
}

void CheckSize(DataType dtype, const Shape& shape, int64_t elements, size_t element_size) {
  if (elements > kMaxBytes / static_cast<int64_t>(element_size)) {
    Throw(Code::kInvalidArgument, "a {} tensor of shape {} is larger than 2^40 bytes", DataTypeName(dtype),
          shape.ToString());
  }
}

}  // namespace

Tensor::Tensor(DataType dtype, const Shape& shape) : dtype_(dtype), shape_(shape) {
  if (!shape.IsExact()) {
    Throw(Code::kInvalidArgument, "a tensor needs an exact shape, not {}", shape.ToString());
  }
  const bool is_string = dtype == DataType::kString;
  const size_t element_size = is_string ? sizeof(std::string) : ElementSize(dtype);
  if (element_size == 0 || IsRefType(dtype)) {
    Throw(Code::kInvalidArgument, "a host tensor cannot hold elements of type {}", DataTypeName(dtype));
  }
  elements_ = shape.NumElements();
  CheckSize(dtype, shape, elements_, element_size);
  try {
    if (is_string) {
      strings_ = std::make_shared<std::vector<std::string>>(static_cast<size_t>(elements_));
    } else {
      bytes_ = AllocateZeroed(static_cast<size_t>(elements_) * element_size);
    }
  } catch (const std::bad_alloc&) {
    Throw(Code::kResourceExhausted, "no host memory for a {} tensor of shape {}", DataTypeName(dtype),
          shape.ToString());
  }
}

int64_t Tensor::ByteSize() const {
  if (dtype_ != DataType::kString) return elements_ * static_cast<int64_t>(ElementSize(dtype_));
  int64_t bytes = 0;
  for (const std::string& text : *strings_) bytes += static_cast<int64_t>(text.size());
  return bytes;
}

void* Tensor::raw_data() {
  return dtype_ == DataType::kString ? static_cast<void*>(strings_->data()) : bytes_.get();
}

const void* Tensor::raw_data() const {
  return dtype_ == DataType::kString ? static_cast<const void*>(strings_->data()) : bytes_.get();
}

Tensor Tensor::Reshaped(const Shape& shape) const {
  if (!shape.IsExact() || shape.NumElements() != elements_) {
    Throw(Code::kInvalidArgument, "a tensor of shape {} cannot be reshaped to {}", shape_.ToString(),
          shape.ToString());
  }
  Tensor reshaped = *this;
  reshaped.shape_ = shape;
  return reshaped;
}

int64_t Tensor::IntAt(int64_t index) const {
  if (index < 0 || index >= elements_) {
    Throw(Code::kInvalidArgument, "index {} is outside a tensor of {} elements", index, elements_);
  }
  switch (dtype_) {
    case DataType::kInt32:
      return data<int32_t>()[index];
    case DataType::kInt64:
      return data<int64_t>()[index];
    case DataType::kBool:
      return data<bool>()[index] ? 1 : 0;
    case DataType::kUint8:
      return data<uint8_t>()[index];
    case DataType::kInt8:
      return static_cast<const int8_t*>(raw_data())[index];
    case DataType::kInt16:
      return static_cast<const int16_t*>(raw_data())[index];
    case DataType::kUint16:
      return static_cast<const uint16_t*>(raw_data())[index];
    case DataType::kUint32:
      return static_cast<const uint32_t*>(raw_data())[index];
    default:
      Throw(Code::kInvalidArgument, "a tensor of type {} is not an integer tensor", DataTypeName(dtype_));
  }
}

}  // namespace lanescope
