// SPDX-License-Identifier: Apache-2.0
// The font of the interface.
#pragma once

#include <string>

struct ImFont;

namespace lanescope::gui {

// Owned by ImGui's font atlas.
struct Fonts {
  ImFont* text = nullptr;
  ImFont* small = nullptr;  // labels inside the timeline
  ImFont* title = nullptr;  // ASCII only
  ImFont* mono = nullptr;   // SQL
  bool has_signs = false;   // Δ → · ± are there
  std::string file;         // of the text font; empty: ImGui's own
};

// Replaces the atlas of the current ImGui context. `scale`: pixels per nominal pixel. Fonts are looked for in
// the usual folders; ImGui's built-in font, which lacks the signs, is the last resort.
Fonts LoadFonts(float scale);

}  // namespace lanescope::gui
