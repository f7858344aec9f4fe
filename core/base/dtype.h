// SPDX-License-Identifier: Apache-2.0
// Element types, with TensorFlow's enumeration numbers (types.proto), so that they read and write GraphDef
// without a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lanescope {

enum class DataType : int32_t {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQint8 = 11,
  kQuint8 = 12,
  kQint32 = 13,
  kBfloat16 = 14,
  kQint16 = 15,
  kQuint16 = 16,
  kUint16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUint32 = 22,
  kUint64 = 23,
};

// A GraphDef marks a reference to a variable's buffer by adding 100 to the element type.
inline constexpr int32_t kRefOffset = 100;
inline bool IsRefType(DataType type) { return static_cast<int32_t>(type) > kRefOffset; }
inline DataType MakeRef(DataType type) {
  return static_cast<DataType>(static_cast<int32_t>(type) + kRefOffset);
}
inline DataType RemoveRef(DataType type) {
  return IsRefType(type) ? static_cast<DataType>(static_cast<int32_t>(type) - kRefOffset) : type;
}

// Bytes per element. 0 for types without a flat element (string, resource, variant).
size_t ElementSize(DataType type);
// TensorFlow's short name: "float", "int32", "string", "float_ref".
std::string DataTypeName(DataType type);
// Accepts "float", "float32", "DT_FLOAT", "double", "float64", ... ; kInvalid if unknown.
DataType ParseDataType(std::string_view name);
// "float32", "float64", "int64", "bool", "string": the spelling of NumPy, used in run configurations and JSON
// output.
std::string NumpyName(DataType type);

template <typename T>
struct DataTypeOf;
template <>
struct DataTypeOf<float> {
  static constexpr DataType value = DataType::kFloat;
};
template <>
struct DataTypeOf<double> {
  static constexpr DataType value = DataType::kDouble;
};
template <>
struct DataTypeOf<int32_t> {
  static constexpr DataType value = DataType::kInt32;
};
template <>
struct DataTypeOf<int64_t> {
  static constexpr DataType value = DataType::kInt64;
};
template <>
struct DataTypeOf<bool> {
  static constexpr DataType value = DataType::kBool;
};
template <>
struct DataTypeOf<uint8_t> {
  static constexpr DataType value = DataType::kUint8;
};
template <>
struct DataTypeOf<std::string> {
  static constexpr DataType value = DataType::kString;
};

}  // namespace lanescope
