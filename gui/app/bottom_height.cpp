// SPDX-License-Identifier: Apache-2.0
#include "gui/app/bottom_height.h"

#include <algorithm>
#include <cmath>

namespace lanescope::gui {
namespace {

// Less is not worth the movement.
constexpr float kWorthIt = 0.25f;

}  // namespace

float NextBottomHeight(float shown, const BottomNeeds& needs) {
  float wanted = needs.chosen;
  if (!needs.by_hand && needs.content >= 0) wanted = std::min(wanted, std::ceil(needs.content));
  if (shown <= 0) return wanted;
  shown = std::min(shown, needs.chosen);
  if (needs.by_hand) return wanted;
  if (wanted < shown && shown - wanted < kWorthIt * needs.chosen) return shown;
  if (needs.pressed) return shown;
  const bool under_pointer =
      needs.pointer && *needs.pointer > needs.fixed && *needs.pointer <= std::max(shown, wanted);
  return under_pointer ? shown : wanted;
}

}  // namespace lanescope::gui
