// SPDX-License-Identifier: Apache-2.0
// Draws a frame without a display.
#pragma once

#include <cstdint>

#include "gui/platform/image.h"

struct ImDrawData;

namespace lanescope::gui {

enum class Renderer {
  kAny,       // OpenGL where it is there, else software
  kOpenGl,    // throws Unimplemented where it is not
  kSoftware,  // deterministic
};

// `background`: as ImU32. The font atlas of the current context must be built.
Image RenderOffscreen(ImDrawData* data, uint32_t background, Renderer renderer);

}  // namespace lanescope::gui
