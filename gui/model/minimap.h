// SPDX-License-Identifier: Apache-2.0
// The whole axis at a glance.
#pragma once

#include <vector>

#include "gui/model/draw_plan.h"

namespace lanescope::gui {

// One strip a run from top to bottom: busy share over all its compute lanes. Cost: by pixels and by rows of
// slices that bring something new to their pixels.
struct MinimapRow {
  RunKey run = 0;
  std::vector<DrawColumn> columns;
};
std::vector<MinimapRow> BuildMinimap(const Timeline& timeline, const std::vector<RunAxis>& axes,
                                     int width_px);

}  // namespace lanescope::gui
