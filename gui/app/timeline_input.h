// SPDX-License-Identifier: Apache-2.0
// The mouse in the timeline. Each function is called right after the ImGui item that it is about.
#pragma once

#include "gui/app/ui.h"

namespace lanescope::gui {

// Drag: move the view; wheel: zoom. `left`, `width`: of the content on the screen.
void HandleMinimap(const Ui& ui, float left, float width);
// Hovering and clicking in ruler and pinned strip, which begins at `pinned_top`.
void HandlePinned(const Ui& ui, float left, float pinned_top);
// Everything else. `top`: of the lanes' visible area.
void HandleLanes(const Ui& ui, float left, float top);

}  // namespace lanescope::gui
