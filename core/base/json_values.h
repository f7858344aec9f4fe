// SPDX-License-Identifier: Apache-2.0
// Checks of a value of a JSON file: they say what is wrong in words, and readers where it stands. Empty:
// nothing. Internal to core: brings in the JSON library.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace lanescope {

template <typename Json>
std::string WhyNoString(const Json& value) {
  return value.is_string() ? "" : "must be a string";
}

template <typename Json>
std::string WhyNoInteger(const Json& value, int64_t low, int64_t high) {
  // The library holds a number over 2^63 - 1 as unsigned and would wrap it.
  const bool is_integer =
      value.is_number_integer() &&
      (!value.is_number_unsigned() || value.template get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX));
  if (is_integer && value.template get<int64_t>() >= low && value.template get<int64_t>() <= high) return "";
  return fmt::format("must be an integer from {} to {}", low, high);
}

}  // namespace lanescope
