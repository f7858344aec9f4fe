// SPDX-License-Identifier: Apache-2.0
// PNG files.
#pragma once

#include <string>

#include "gui/platform/image.h"

namespace lanescope::gui {

// Without alpha: pictures of a window are opaque. Throws what WriteFile does.
void WritePng(const std::string& path, const Image& image);
// Throws NotFound or DataLoss naming the file.
Image ReadPng(const std::string& path);

}  // namespace lanescope::gui
