// SPDX-License-Identifier: Apache-2.0
// Draws what ImGui wants drawn without a graphics library: the same bits on every machine.
#pragma once

#include <cstdint>

#include "gui/platform/image.h"

struct ImDrawData;

namespace lanescope::gui {

// The only texture is the current context's font atlas. `background`: 0xAABBGGRR, as ImU32. Triangles cover
// the pixels whose centres they contain, with the top-left rule, so that neighbours neither overlap nor leave
// gaps.
Image Rasterize(const ImDrawData& data, uint32_t background);

}  // namespace lanescope::gui
