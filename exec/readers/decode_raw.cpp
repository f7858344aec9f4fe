// SPDX-License-Identifier: Apache-2.0
#include "exec/readers/decode_raw.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace lanescope::exec {

Tensor DecodeRaw(const Tensor& strings, DataType type, bool little_endian) {
  const size_t size = ElementSize(type);
  if (size == 0)
    Throw(Code::kInvalidArgument, "DecodeRaw cannot give numbers of type {}", DataTypeName(type));
  const int64_t count = strings.NumElements();
  const std::string* texts = strings.data<std::string>();
  const size_t length = count == 0 ? 0 : texts[0].size();
  for (int64_t i = 1; i < count; ++i) {
    if (texts[i].size() == length) continue;
    Throw(Code::kInvalidArgument,
          "DecodeRaw requires input strings to all be the same size, but element {} has size {} != {}", i,
          texts[i].size(), length);
  }
  if (length % size != 0) {
    Throw(Code::kInvalidArgument,
          "Input to DecodeRaw has length {} that is not a multiple of {}, the size of {}", length, size,
          DataTypeName(type));
  }
  Shape shape = strings.shape();
  shape.Append(static_cast<Dim>(length / size));
  Tensor numbers(type, shape);
  if (length == 0) return numbers;
  auto* to = static_cast<char*>(numbers.raw_data());
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + static_cast<size_t>(i) * length, texts[i].data(), length);
  if (little_endian) return numbers;
  // A complex number is two numbers.
  const bool is_complex = type == DataType::kComplex64 || type == DataType::kComplex128;
  const size_t part = is_complex ? size / 2 : size;
  for (size_t at = 0; at < static_cast<size_t>(count) * length; at += part)
    std::reverse(to + at, to + at + part);
  return numbers;
}

}  // namespace lanescope::exec
