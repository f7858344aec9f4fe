// SPDX-License-Identifier: Apache-2.0
#include "gui/platform/input_adapter.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <imgui.h>

#include <utility>

namespace lanescope::gui {
namespace {

#if IMGUI_VERSION_NUM >= 18700
constexpr ImGuiKey kKeypadEnter = ImGuiKey_KeypadEnter;
#else
constexpr ImGuiKey kKeypadEnter = ImGuiKey_KeyPadEnter;
#endif

// The keys that ImGui's own widgets use.
constexpr std::pair<int, ImGuiKey> kWidgetKeys[] = {
    {GLFW_KEY_TAB, ImGuiKey_Tab},
    {GLFW_KEY_LEFT, ImGuiKey_LeftArrow},
    {GLFW_KEY_RIGHT, ImGuiKey_RightArrow},
    {GLFW_KEY_UP, ImGuiKey_UpArrow},
    {GLFW_KEY_DOWN, ImGuiKey_DownArrow},
    {GLFW_KEY_PAGE_UP, ImGuiKey_PageUp},
    {GLFW_KEY_PAGE_DOWN, ImGuiKey_PageDown},
    {GLFW_KEY_HOME, ImGuiKey_Home},
    {GLFW_KEY_END, ImGuiKey_End},
    {GLFW_KEY_INSERT, ImGuiKey_Insert},
    {GLFW_KEY_DELETE, ImGuiKey_Delete},
    {GLFW_KEY_BACKSPACE, ImGuiKey_Backspace},
    {GLFW_KEY_SPACE, ImGuiKey_Space},
    {GLFW_KEY_ENTER, ImGuiKey_Enter},
    {GLFW_KEY_ESCAPE, ImGuiKey_Escape},
    {GLFW_KEY_KP_ENTER, kKeypadEnter},
    {GLFW_KEY_A, ImGuiKey_A},
    {GLFW_KEY_C, ImGuiKey_C},
    {GLFW_KEY_V, ImGuiKey_V},
    {GLFW_KEY_X, ImGuiKey_X},
    {GLFW_KEY_Y, ImGuiKey_Y},
    {GLFW_KEY_Z, ImGuiKey_Z},
};

#if IMGUI_VERSION_NUM >= 18700  // events instead of state

void MapKeys() {}

bool IsPressed(ImGuiKey key) { return ImGui::IsKeyPressed(key, false); }

void FeedMouse(float x, float y) { ImGui::GetIO().AddMousePosEvent(x, y); }
void FeedButton(int button, bool down) { ImGui::GetIO().AddMouseButtonEvent(button, down); }
void FeedWheel(float steps) { ImGui::GetIO().AddMouseWheelEvent(0, steps); }

void FeedKey(int key, int mods, bool down) {
  ImGuiIO& io = ImGui::GetIO();
  io.AddKeyEvent(ImGuiMod_Ctrl, down && (mods & GLFW_MOD_CONTROL) != 0);
  io.AddKeyEvent(ImGuiMod_Shift, down && (mods & GLFW_MOD_SHIFT) != 0);
  io.AddKeyEvent(ImGuiMod_Alt, down && (mods & GLFW_MOD_ALT) != 0);
  for (const auto& [code, widget_key] : kWidgetKeys) {
    if (code == key) io.AddKeyEvent(widget_key, down);
  }
}

#else

void MapKeys() {
  for (const auto& [code, widget_key] : kWidgetKeys) ImGui::GetIO().KeyMap[widget_key] = code;
}

bool IsPressed(ImGuiKey key) { return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key), false); }

void FeedMouse(float x, float y) { ImGui::GetIO().MousePos = ImVec2(x, y); }
void FeedButton(int button, bool down) { ImGui::GetIO().MouseDown[button] = down; }
void FeedWheel(float steps) { ImGui::GetIO().MouseWheel += steps; }

void FeedKey(int key, int mods, bool down) {
  ImGuiIO& io = ImGui::GetIO();
  io.KeyCtrl = down && (mods & GLFW_MOD_CONTROL) != 0;
  io.KeyShift = down && (mods & GLFW_MOD_SHIFT) != 0;
  io.KeyAlt = down && (mods & GLFW_MOD_ALT) != 0;
  if (key >= 0 && key < static_cast<int>(IM_ARRAYSIZE(io.KeysDown))) io.KeysDown[key] = down;
}

#endif

}  // namespace

bool IsSubmitPressed() { return ImGui::GetIO().KeyCtrl && IsPressed(ImGuiKey_Enter); }

bool IsEscapePressed() { return IsPressed(ImGuiKey_Escape); }

std::vector<KeyPress> KeyQueue::Take() { return std::exchange(presses_, {}); }

SyntheticInput::SyntheticInput(KeyQueue* keys) : keys_(keys) {
  ImGuiIO& io = ImGui::GetIO();
  io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
  MapKeys();
}

void SyntheticInput::BeginFrame(float width, float height, float seconds) {
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = ImVec2(width, height);
  io.DeltaTime = seconds;
}

void SyntheticInput::MoveMouse(float x, float y) { FeedMouse(x, y); }
void SyntheticInput::Button(int button, bool down) { FeedButton(button, down); }
void SyntheticInput::Wheel(float steps) { FeedWheel(steps); }

void SyntheticInput::Key(int key, int mods, bool down) {
  FeedKey(key, mods, down);
  if (down && keys_ != nullptr) keys_->Push({.key = key, .mods = mods, .character = 0});
}

void SyntheticInput::Type(std::string_view ascii) {
  for (const char c : ascii) {
    ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(c));
    if (keys_ != nullptr) keys_->Push({.key = 0, .mods = 0, .character = static_cast<unsigned char>(c)});
  }
}

}  // namespace lanescope::gui
