// SPDX-License-Identifier: Apache-2.0
// Differences of ImGui's versions in input, and the queue from which shortcuts are taken.
#pragma once

#include <string_view>
#include <vector>

namespace lanescope::gui {

// One press (or repeat) of a key, or one typed character. Keys and modifiers have GLFW's numbers.
struct KeyPress {
  int key = 0;
  int mods = 0;
  unsigned character = 0;  // Unicode; then key is 0
};

// Everything pressed since the last frame, in order. ImGui 1.86 keeps only whether a key is down when a frame
// begins, so that what is pressed and released within a slow frame would be lost.
class KeyQueue {
 public:
  void Push(const KeyPress& press) { presses_.push_back(press); }
  std::vector<KeyPress> Take();
  bool empty() const { return presses_.empty(); }

 private:
  std::vector<KeyPress> presses_;
};

// Ctrl and Enter, once per press.
bool IsSubmitPressed();
bool IsEscapePressed();

// Input without a window: for tests and pictures. Acts on the current ImGui context.
class SyntheticInput {
 public:
  // Prepares the context to be used without a window. `keys` is borrowed; may be null.
  explicit SyntheticInput(KeyQueue* keys);
  // Before ImGui::NewFrame; sizes in pixels, time in seconds.
  static void BeginFrame(float width, float height, float seconds);
  void MoveMouse(float x, float y);
  void Button(int button, bool down);
  void Wheel(float steps);
  void Key(int key, int mods, bool down);
  void Type(std::string_view ascii);

 private:
  KeyQueue* keys_;
};

}  // namespace lanescope::gui
