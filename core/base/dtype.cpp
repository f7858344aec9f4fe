// SPDX-License-Identifier: Apache-2.0
#include "core/base/dtype.h"

#include <array>

namespace lanescope {
namespace {

struct TypeRow {
  int number;
  size_t size;
  std::string_view name;   // TensorFlow's short name; upper case with DT_ in front: its enumerator
  std::string_view numpy;  // NumPy's spelling
  std::string_view alias;  // one more accepted spelling
};

// Numbers 24 to 30 have no enumerator in DataType, but files may hold them.
constexpr std::array<TypeRow, 27> kTypes = {{
    {1, 4, "float", "float32", ""},
    {2, 8, "double", "float64", ""},
    {3, 4, "int32", "int32", "int"},
    {4, 1, "uint8", "uint8", ""},
    {5, 2, "int16", "int16", ""},
    {6, 1, "int8", "int8", ""},
    {7, 0, "string", "string", "str"},
    {8, 8, "complex64", "complex64", ""},
    {9, 8, "int64", "int64", ""},
    {10, 1, "bool", "bool", ""},
    {11, 1, "qint8", "qint8", ""},
    {12, 1, "quint8", "quint8", ""},
    {13, 4, "qint32", "qint32", ""},
    {14, 2, "bfloat16", "bfloat16", ""},
    {15, 2, "qint16", "qint16", ""},
    {16, 2, "quint16", "quint16", ""},
    {17, 2, "uint16", "uint16", ""},
    {18, 16, "complex128", "complex128", ""},
    {19, 2, "half", "float16", ""},
    {20, 0, "resource", "resource", ""},
    {21, 0, "variant", "variant", ""},
    {22, 4, "uint32", "uint32", ""},
    {23, 8, "uint64", "uint64", ""},
    {24, 1, "float8_e5m2", "float8_e5m2", ""},
    {25, 1, "float8_e4m3fn", "float8_e4m3fn", ""},
    {29, 1, "int4", "int4", ""},
    {30, 1, "uint4", "uint4", ""},
}};

const TypeRow* FindRow(DataType type) {
  const int number = static_cast<int>(RemoveRef(type));
  for (const TypeRow& row : kTypes) {
    if (row.number == number) return &row;
  }
  return nullptr;
}

char ToUpper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool IsEnumerator(std::string_view text, std::string_view name) {
  constexpr std::string_view kPrefix = "DT_";
  if (!text.starts_with(kPrefix) || text.size() != kPrefix.size() + name.size()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    if (text[kPrefix.size() + i] != ToUpper(name[i])) return false;
  }
  return true;
}

DataType ParseBaseType(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (name == row.name || name == row.numpy || IsEnumerator(name, row.name) ||
        (!row.alias.empty() && name == row.alias)) {
      return static_cast<DataType>(row.number);
    }
  }
  return DataType::kInvalid;
}

std::string WithRef(std::string_view name, DataType type) {
  return std::string(name) + (IsRefType(type) ? "_ref" : "");
}

}  // namespace

size_t ElementSize(DataType type) {
  const TypeRow* row = FindRow(type);
  return row == nullptr ? 0 : row->size;
}

std::string DataTypeName(DataType type) {
  const TypeRow* row = FindRow(type);
  if (row != nullptr) return WithRef(row->name, type);
  return type == DataType::kInvalid ? "invalid"
                                    : "unknown(" + std::to_string(static_cast<int32_t>(type)) + ")";
}

DataType ParseDataType(std::string_view name) {
  for (std::string_view suffix : {"_ref", "_REF"}) {
    if (!name.ends_with(suffix)) continue;
    const DataType base = ParseBaseType(name.substr(0, name.size() - suffix.size()));
    return base == DataType::kInvalid ? base : MakeRef(base);
  }
  return ParseBaseType(name);
}

std::string NumpyName(DataType type) {
  const TypeRow* row = FindRow(type);
  return row == nullptr ? DataTypeName(type) : WithRef(row->numpy, type);
}

}  // namespace lanescope
