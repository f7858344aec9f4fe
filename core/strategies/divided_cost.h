// SPDX-License-Identifier: Apache-2.0
// The cost that a node says of itself (`_lanescope_cost`), for an equal share of its work. Internal to core.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

namespace lanescope {

// Every whole number of a text by so much.
inline std::string DividedNumbers(const std::string& text, int64_t by) {
  std::string divided;
  for (size_t i = 0; i < text.size();) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), number);
    if (error != std::errc()) {
      divided += text[i++];
      continue;
    }
    divided += std::to_string(number / by);
    i = static_cast<size_t>(end - text.data());
  }
  return divided;
}

}  // namespace lanescope
