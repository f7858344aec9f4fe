// SPDX-License-Identifier: Apache-2.0
// A window on the screen, by GLFW and OpenGL 3.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gui/platform/input_adapter.h"

namespace lanescope::gui {

// Owns the window, its OpenGL context and ImGui's two backends for it; the ImGui context is the caller's and
// must outlive it. One per process, on the main thread; only Wake may be called from other threads.
class Window {
 public:
  // Throws FailedPrecondition where there is no display or no OpenGL 3.
  Window(const std::string& title, int width, int height);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  bool ShouldClose() const;
  // Handles what has arrived. Negative: sleeps until something arrives; else at most so many seconds.
  void WaitForEvents(double seconds);
  // Runs `build` between NewFrame and Render, and shows the result.
  void Frame(const std::function<void()>& build, uint32_t background);
  // Ends a WaitForEvents.
  static void Wake();

  KeyQueue& keys() { return keys_; }
  std::vector<std::string> TakeDroppedFiles();
  // Pixels per nominal pixel, as the desktop asks for; changes when the window moves to another screen.
  float ContentScale() const;
  // After the font atlas was rebuilt.
  void UploadFonts();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  KeyQueue keys_;
};

}  // namespace lanescope::gui
