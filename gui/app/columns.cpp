// SPDX-License-Identifier: Apache-2.0
#include "gui/app/columns.h"

#include <algorithm>

namespace lanescope::gui {

SliderColumns FitSlider(float room, float value, float gap) {
  constexpr float kLabelShare = 0.55f;
  const float rest = std::max(0.0f, room - value - 2 * gap);
  const float label = rest * kLabelShare;
  return {.label = label, .slider = rest - label, .value = std::min(value, room)};
}

std::vector<float> FitColumns(std::vector<float> wanted, float room, float least) {
  std::vector<float> ascending = wanted;
  std::sort(ascending.begin(), ascending.end());
  float most = ascending.empty() ? 0 : ascending.back();
  float left = room;
  for (size_t i = 0; i < ascending.size(); ++i) {
    // If no column before this one gives way, the others may be this wide.
    const float share = left / static_cast<float>(ascending.size() - i);
    if (ascending[i] > share) {
      most = std::max(share, least);
      break;
    }
    left -= ascending[i];
  }
  for (float& width : wanted) width = std::min(width, most);
  return wanted;
}

}  // namespace lanescope::gui
