// SPDX-License-Identifier: Apache-2.0
// The thing that lies under a pixel.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/model/draw_plan.h"
#include "gui/model/layout.h"
#include "gui/model/view_transform.h"

namespace lanescope::gui {

struct Hit {
  enum class What : uint8_t { kNothing, kRunHeader, kGroupHeader, kLane, kSlice, kCounter };
  What what = What::kNothing;
  RunKey run = 0;
  int group = -1;  // kGroupHeader: index into RunData::groups
  int lane = -1;
  SliceRef slice;
  int64_t time_ns = 0;        // of the run's clock
  int64_t counter_value = 0;  // kCounter
};

// `x`, `y`: as in the draw plan, with y of the visible area plus options.scroll_y (or of the pinned strip).
// A slice is hit when it contains the time at the pixel's centre; where none does, the slice that covers most
// of the pixel; then the nearest one that is drawn a pixel wide there.
Hit Pick(const Timeline& timeline, const Layout& layout, const std::vector<RunAxis>& axes,
         const ViewTransform& view, float x, float y, bool in_pinned = false);

// A device lane as target of a drag: index into the run's devices; -1: none.
int DeviceAt(const Timeline& timeline, const Layout& layout, float y);

}  // namespace lanescope::gui
