// SPDX-License-Identifier: Apache-2.0
// How wide columns are, in pixels.
#pragma once

#include <vector>

namespace lanescope::gui {

// A label, a slider and its value beside each other, `gap` apart. The value keeps its width as long as there
// is that much room; label and slider share the rest.
struct SliderColumns {
  float label = 0, slider = 0, value = 0;
};
SliderColumns FitSlider(float room, float value, float gap);

// Columns that want `wanted`: as they want where all fit into `room`; else the widest give way, all down to
// one width, but to no less than `least`.
std::vector<float> FitColumns(std::vector<float> wanted, float room, float least);

}  // namespace lanescope::gui
