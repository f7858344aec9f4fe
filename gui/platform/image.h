// SPDX-License-Identifier: Apache-2.0
// A picture in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lanescope::gui {

// Rows from top to bottom; 4 bytes a pixel: red, green, blue, alpha. Value type.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgba;

  Image() = default;
  Image(int w, int h) : width(w), height(h), rgba(static_cast<size_t>(w) * static_cast<size_t>(h) * 4) {}
  uint8_t* pixel(int x, int y) {
    return &rgba[(static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) * 4];
  }
  const uint8_t* pixel(int x, int y) const { return const_cast<Image*>(this)->pixel(x, y); }
};

}  // namespace lanescope::gui
