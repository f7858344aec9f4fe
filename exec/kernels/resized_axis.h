// SPDX-License-Identifier: Apache-2.0
// Which pixels of an image each row or column of the resized one is made of. Evaluated on host and device.
#pragma once

#include <cmath>
#include <cstdint>

#include "exec/functors/isa.h"

namespace lanescope::exec {

// One row or column of the resized image: it lies between two of the image, `share` of the way.
struct ResizedLine {
  int64_t lower, upper;
  float share;
};

// In single precision, as TensorFlow reckons: where a pixel falls decides which neighbours it has. From
// one line to the next neither neighbour moves back.
struct ResizedAxis {
  int64_t of_image = 0, of_resized = 0;
  float scale = 1;
  bool corners = false, centers = false, bilinear = false;

  LANESCOPE_HOST_DEVICE ResizedLine At(int64_t i) const {
    const auto number = static_cast<float>(i);
    const int64_t last = of_image - 1;
    if (bilinear) {
      const float at = centers ? (number + 0.5f) * scale - 0.5f : number * scale;
      const float below = __builtin_floorf(at);
      const auto lower = static_cast<int64_t>(below), upper = static_cast<int64_t>(__builtin_ceilf(at));
      return {lower > 0 ? lower : 0, upper < last ? upper : last, at - below};
    }
    const float at = centers ? (number + 0.5f) * scale : number * scale;
    const auto near = static_cast<int64_t>(corners ? ::roundf(at) : __builtin_floorf(at));
    const int64_t pixel = near < 0 ? 0 : near > last ? last : near;
    return {pixel, pixel, 0};
  }

  // The first line whose upper neighbour is `pixel` or behind it, and the first one whose lower neighbour is
  // behind it: between them is what the pixel has a part in.
  LANESCOPE_HOST_DEVICE int64_t FirstOf(int64_t pixel) const {
    return Search([&](const ResizedLine& line) { return line.upper >= pixel; });
  }
  LANESCOPE_HOST_DEVICE int64_t EndOf(int64_t pixel) const {
    return Search([&](const ResizedLine& line) { return line.lower > pixel; });
  }

 private:
  // The first line for which `holds`, which holds from there on.
  template <typename Holds>
  LANESCOPE_HOST_DEVICE int64_t Search(const Holds& holds) const {
    int64_t low = 0, high = of_resized;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (holds(At(middle))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

}  // namespace lanescope::exec
