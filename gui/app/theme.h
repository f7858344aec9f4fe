// SPDX-License-Identifier: Apache-2.0
// Colours of the interface, and those that tell slices apart.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <string_view>

namespace lanescope::gui {

enum class ThemeName { kDark, kLight };

// Value type. Colours as ImU32.
struct Theme {
  ThemeName name = ThemeName::kDark;
  ImU32 background = 0;  // of the window
  ImU32 panel = 0;       // of side panels
  ImU32 lane = 0;        // behind slices
  ImU32 lane_other = 0;  // every second lane
  ImU32 grid = 0;        // lines of the time axis
  ImU32 border = 0;
  ImU32 text = 0;
  ImU32 text_dim = 0;
  ImU32 accent = 0;     // what is selected, buttons
  ImU32 selection = 0;  // outline of selected slices
  ImU32 area = 0;       // a selected area; translucent
  ImU32 mark = 0;
  ImU32 hit = 0;       // search hits
  ImU32 critical = 0;  // the critical path
  ImU32 arrow = 0;     // transfers
  ImU32 memory = 0;    // counters
  ImU32 limit = 0;     // memory limits, and what exceeds them
  ImU32 measured = 0, simulated = 0, emulated = 0, hardware = 0, what_if = 0;
  ImU32 good = 0, bad = 0;  // faster and slower; blue and orange, which all eyes tell apart
};

const Theme& ThemeOf(ThemeName name);
// Sets ImGui's style for the theme and the scale (pixels per nominal pixel).
void ApplyTheme(const Theme& theme, float scale);

ImU32 WithAlpha(ImU32 colour, float alpha);
ImU32 Mix(ImU32 a, ImU32 b, float share_of_b);
// Black or white, whichever reads better on `background`.
ImU32 TextOn(ImU32 background);

// Colours that people with any common colour blindness tell apart, by number; they repeat after 12.
ImU32 CategoryColour(int number);
// From blue (-1: faster than expected) over grey to orange (+1: slower).
ImU32 DivergingColour(double value);

}  // namespace lanescope::gui
