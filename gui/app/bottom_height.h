// SPDX-License-Identifier: Apache-2.0
// How much of the window the panel below the lanes takes: what it has nothing to show in is the lanes'.
#pragma once

#include <optional>

namespace lanescope::gui {

// The sizes that decide it, in pixels.
struct BottomNeeds {
  float chosen = 0;      // as high as it may be
  float content = 0;     // that what it shows is high; negative: as high as it may be
  bool by_hand = false;  // the user sized it: it stays so
  // The pointer, from the lower edge of the window; none: it is elsewhere. And whether a button is down.
  std::optional<float> pointer;
  bool pressed = false;
  float fixed = 0;  // the lowest so many pixels (the tabs) stay where they are whatever it does
};

// The height after `shown` (0: none yet). It changes only where neither what it gives nor what it takes is
// under the pointer, and never while a button is down: nothing that one is about to click may move.
float NextBottomHeight(float shown, const BottomNeeds& needs);

}  // namespace lanescope::gui
