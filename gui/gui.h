// SPDX-License-Identifier: Apache-2.0
// The timeline, in a window or as a picture. A build without ImGui has a stand-in that only says so.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace lanescope::gui {

struct GuiOptions {
  std::vector<std::string> files;  // traces; none: the start page
  std::string screenshot;          // PNG to write instead of opening a window; empty: a window
  int width = 1600, height = 900;  // of the window or picture, pixels
  std::string view;                // what to show, see ViewOptions
  std::string theme = "dark";      // or "light"
  double scale = 0;                // pixels per nominal pixel; 0: as the desktop says, 1 for pictures
  const std::atomic<bool>* interrupted = nullptr;  // ends the window, or the picture with Cancelled
};

// Returns when the window is closed or the picture written. Throws Error: NotFound or DataLoss for files that
// cannot be opened (a window shows these instead), InvalidArgument for a bad view, FailedPrecondition where
// there is no display or no GUI in this build.
void RunGui(const GuiOptions& options);

}  // namespace lanescope::gui
