// SPDX-License-Identifier: Apache-2.0
// Puts a draw plan on the screen.
#pragma once

#include <imgui.h>

#include <utility>
#include <vector>

#include "gui/app/colours.h"
#include "gui/app/theme.h"
#include "gui/model/draw_plan.h"

namespace lanescope::gui {

struct PaintStyle {
  const Theme* theme = nullptr;
  const Colours* colours = nullptr;
  ColorMode mode = ColorMode::kOp;
  ImFont* label_font = nullptr;
  float scale = 1;
  bool dim_others = false;  // an op is selected: all else steps back
  // Where predicted runs stand, from and to in the part's y: their labels lie on lighter ground.
  std::vector<std::pair<float, float>> predicted;
};

// `origin`: where (0, 0) of the part's coordinates is on the screen.
void PaintSteps(ImDrawList* list, ImVec2 origin, const DrawPlan::Part& part, const PaintStyle& style);
// `timeline` tells predicted runs, which are drawn hollow.
void PaintSlices(ImDrawList* list, ImVec2 origin, const DrawPlan::Part& part, const Timeline& timeline,
                 const PaintStyle& style);
void PaintArrows(ImDrawList* list, ImVec2 origin, const DrawPlan& plan, const PaintStyle& style);
// Diagonal lines over a rectangle: what lies there is no measurement.
void PaintHatching(ImDrawList* list, ImVec2 from, ImVec2 to, ImU32 colour, float spacing);

}  // namespace lanescope::gui
