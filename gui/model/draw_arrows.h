// SPDX-License-Identifier: Apache-2.0
// Transfers and the selected slice's dependencies as arrows. Part of draw_plan.
#pragma once

#include "gui/model/draw_plan.h"

namespace lanescope::gui {

// The dependencies of the selected slice always; those of every visible copy where they are at most
// options.max_arrows, else bands that count the copies; launches where few are visible. Only between lanes
// that are laid out.
void DrawArrows(const Timeline& timeline, const Layout& layout, const std::vector<RunAxis>& axes,
                const ViewTransform& view, const Highlight& highlight, const DrawOptions& options,
                DrawPlan* plan);

}  // namespace lanescope::gui
