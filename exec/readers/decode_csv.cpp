// SPDX-License-Identifier: Apache-2.0
#include "exec/readers/decode_csv.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "core/base/error.h"

namespace lanescope::exec {
namespace {

constexpr char kBlanks[] = " \t\n\v\f\r";

std::string_view Stripped(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

template <typename T>
bool ParseInteger(std::string_view text, T* value) {
  const std::string_view number = Stripped(text);
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), *value);
  return problem == std::errc() && end == number.data() + number.size();
}

template <typename T>
bool ParseFloat(std::string_view text, T* value) {
  const std::string_view number = Stripped(text);
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), *value);
  if (problem == std::errc() && end == number.data() + number.size()) return true;
  // Signs, hexadecimal digits, and what is too large or too small to be exact.
  const std::string copy(number);
  char* last = nullptr;
  if constexpr (std::is_same_v<T, float>) {
    *value = std::strtof(copy.c_str(), &last);
  } else {
    *value = std::strtod(copy.c_str(), &last);
  }
  return !copy.empty() && last == copy.c_str() + copy.size();
}

bool ParseField(std::string_view field, Tensor* column, int64_t at) {
  switch (column->dtype()) {
    case DataType::kInt32:
      return ParseInteger(field, column->data<int32_t>() + at);
    case DataType::kInt64:
      return ParseInteger(field, column->data<int64_t>() + at);
    case DataType::kFloat:
      return ParseFloat(field, column->data<float>() + at);
    case DataType::kDouble:
      return ParseFloat(field, column->data<double>() + at);
    default:
      column->data<std::string>()[at] = field;
      return true;
  }
}

void CopyDefault(const Tensor& from, Tensor* column, int64_t at) {
  if (from.dtype() == DataType::kString) {
    column->data<std::string>()[at] = from.data<std::string>()[0];
    return;
  }
  const size_t size = ElementSize(from.dtype());
  std::memcpy(static_cast<std::byte*>(column->raw_data()) + static_cast<size_t>(at) * size, from.raw_data(),
              size);
}

void CheckColumns(const CsvColumns& columns) {
  for (size_t i = 0; i < columns.defaults.size(); ++i) {
    const Tensor& value = columns.defaults[i];
    if (value.NumElements() > 1) {
      Throw(Code::kInvalidArgument, "There should only be 1 default per field but field {} has {}", i,
            value.NumElements());
    }
    switch (value.dtype()) {
      case DataType::kInt32:
      case DataType::kInt64:
      case DataType::kFloat:
      case DataType::kDouble:
      case DataType::kString:
        break;
      default:
        Throw(Code::kInvalidArgument, "csv: data type {} not supported in field {}",
              DataTypeName(value.dtype()), i);
    }
  }
  if (columns.select.empty()) return;
  if (columns.select.size() != columns.defaults.size()) {
    Throw(Code::kInvalidArgument, "select_cols should match output size");
  }
  for (size_t i = 0; i < columns.select.size(); ++i) {
    if (columns.select[i] < 0) Throw(Code::kInvalidArgument, "select_cols should be non-negative integers");
    if (i > 0 && columns.select[i] <= columns.select[i - 1]) {
      Throw(Code::kInvalidArgument, "select_cols should be strictly increasing indices");
    }
  }
}

}  // namespace

char ParseDelimiter(const std::string& text) {
  if (text.size() != 1) Throw(Code::kInvalidArgument, "field_delim should be only 1 char");
  return text[0];
}

std::vector<Tensor> DecodeCsv(const Tensor& lines, const CsvColumns& columns) {
  CheckColumns(columns);
  std::vector<Tensor> result;
  for (const Tensor& value : columns.defaults) result.emplace_back(value.dtype(), lines.shape());
  CsvFields splitter(columns.syntax);
  // Anything may stand behind the last column that is taken.
  const size_t limit =
      columns.select.empty() ? std::string_view::npos : static_cast<size_t>(columns.select.back()) + 1;
  std::vector<std::string_view> selected;
  for (int64_t r = 0; r < lines.NumElements(); ++r) {
    const std::vector<std::string_view>* fields = &splitter.Split(lines.data<std::string>()[r], limit);
    if (!columns.select.empty()) {
      selected.clear();
      for (const int64_t column : columns.select) {
        if (static_cast<size_t>(column) < fields->size()) {
          selected.push_back((*fields)[static_cast<size_t>(column)]);
        }
      }
      fields = &selected;
    }
    if (fields->size() != result.size()) {
      Throw(Code::kInvalidArgument, "Expect {} fields but have {} in record {}", result.size(),
            fields->size(), r);
    }
    for (size_t f = 0; f < result.size(); ++f) {
      const std::string_view field = (*fields)[f];
      if (field.empty() || field == columns.na_value) {
        if (columns.defaults[f].NumElements() == 0) {
          Throw(Code::kInvalidArgument, "Field {} is required but missing in record {}!", f, r);
        }
        CopyDefault(columns.defaults[f], &result[f], r);
      } else if (!ParseField(field, &result[f], r)) {
        Throw(Code::kInvalidArgument, "Field {} in record {} is not a valid {}: {}", f, r,
              DataTypeName(result[f].dtype()), field);
      }
    }
  }
  return result;
}

}  // namespace lanescope::exec
