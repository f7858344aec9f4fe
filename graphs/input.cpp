// SPDX-License-Identifier: Apache-2.0
#include "graphs/input.h"

#include <cmath>

#include "core/base/error.h"
#include "graphs/variable.h"

namespace lanescope::graphs {
namespace {

template <typename To, typename From>
To ConvertNumber(From value, DataType dtype) {
  const auto converted = static_cast<To>(value);
  if constexpr (std::is_integral_v<To>) {
    if (static_cast<From>(converted) != value) {
      Throw(Code::kInvalidArgument, "expected {}, got {}", DataTypeName(dtype), value);
    }
  }
  return converted;
}

template <typename To, typename From>
void ConvertNumbers(const Tensor& from, Tensor* to) {
  const From* source = from.data<From>();
  auto* target = static_cast<To*>(to->raw_data());
  for (int64_t i = 0; i < from.NumElements(); ++i) target[i] = ConvertNumber<To>(source[i], to->dtype());
}

template <typename From>
void ConvertFrom(const Tensor& from, Tensor* to) {
  switch (to->dtype()) {
    case DataType::kFloat:
      return ConvertNumbers<float, From>(from, to);
    case DataType::kDouble:
      return ConvertNumbers<double, From>(from, to);
    case DataType::kInt8:
      return ConvertNumbers<int8_t, From>(from, to);
    case DataType::kInt16:
      return ConvertNumbers<int16_t, From>(from, to);
    case DataType::kInt32:
      return ConvertNumbers<int32_t, From>(from, to);
    case DataType::kInt64:
      return ConvertNumbers<int64_t, From>(from, to);
    case DataType::kUint8:
      return ConvertNumbers<uint8_t, From>(from, to);
    case DataType::kUint16:
      return ConvertNumbers<uint16_t, From>(from, to);
    case DataType::kUint32:
      return ConvertNumbers<uint32_t, From>(from, to);
    case DataType::kUint64:
      return ConvertNumbers<uint64_t, From>(from, to);
    default:
      Throw(Code::kInvalidArgument, "a number is no {}; give a tensor", DataTypeName(to->dtype()));
  }
}

}  // namespace

Input::Input(const Variable& variable) : endpoint_(variable.value) {}

DataType NaturalType(const Tensor& value) {
  switch (value.dtype()) {
    case DataType::kInt64:
      return DataType::kInt32;
    case DataType::kDouble:
      return DataType::kFloat;
    default:
      return value.dtype();
  }
}

Tensor NumbersAs(const Tensor& value, DataType dtype) {
  if (value.dtype() == dtype) return value;
  Tensor converted(dtype, value.shape());
  if (value.dtype() == DataType::kDouble) {
    ConvertFrom<double>(value, &converted);
  } else if (value.dtype() == DataType::kInt64) {
    ConvertFrom<int64_t>(value, &converted);
  } else {
    Throw(Code::kInvalidArgument, "expected {}, got {}", DataTypeName(dtype), DataTypeName(value.dtype()));
  }
  return converted;
}

}  // namespace lanescope::graphs
