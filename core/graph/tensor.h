// SPDX-License-Identifier: Apache-2.0
// A host tensor: constants, feeds, fetches. Copies share the buffer.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/graph/shape.h"

namespace lanescope {

// Value type over a shared buffer; thread-compatible. Strings live in a vector, everything else in flat
// 64-byte aligned memory.
class Tensor {
 public:
  Tensor() = default;
  // Zero-filled (strings: empty). `shape` must be exact; throws InvalidArgument when it is not, or is
  // absurdly large (> 2^40 bytes).
  Tensor(DataType dtype, const Shape& shape);

  template <typename T>
  static Tensor FromValues(const Shape& shape, const std::vector<T>& values) {
    Tensor tensor(DataTypeOf<T>::value, shape);
    LANESCOPE_CHECK(static_cast<int64_t>(values.size()) == tensor.NumElements());
    for (size_t i = 0; i < values.size(); ++i) tensor.data<T>()[i] = values[i];
    return tensor;
  }
  template <typename T>
  static Tensor Scalar(T value) {
    Tensor tensor(DataTypeOf<T>::value, Shape{});
    tensor.data<T>()[0] = value;
    return tensor;
  }

  DataType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t NumElements() const { return elements_; }
  // Bytes of the flat buffer; for strings the sum of their lengths.
  int64_t ByteSize() const;
  bool valid() const { return dtype_ != DataType::kInvalid; }

  template <typename T>
  T* data() {
    LANESCOPE_CHECK(DataTypeOf<T>::value == dtype_);
    return static_cast<T*>(raw_data());
  }
  template <typename T>
  const T* data() const {
    LANESCOPE_CHECK(DataTypeOf<T>::value == dtype_);
    return static_cast<const T*>(raw_data());
  }
  // Flat bytes; for string tensors a pointer to the first std::string.
  void* raw_data();
  const void* raw_data() const;

  // These elements under another exact shape with the same element count.
  Tensor Reshaped(const Shape& shape) const;

  // An element of a tensor of bools or of integers (not uint64) as int64; throws InvalidArgument for others
  // or a bad index.
  int64_t IntAt(int64_t index) const;

 private:
  DataType dtype_ = DataType::kInvalid;
  Shape shape_;
  int64_t elements_ = 0;
  std::shared_ptr<std::byte[]> bytes_;
  std::shared_ptr<std::vector<std::string>> strings_;
};

template <>
inline std::string* Tensor::data<std::string>() {
  LANESCOPE_CHECK(dtype_ == DataType::kString);
  return strings_->data();
}
template <>
inline const std::string* Tensor::data<std::string>() const {
  LANESCOPE_CHECK(dtype_ == DataType::kString);
  return strings_->data();
}

}  // namespace lanescope
