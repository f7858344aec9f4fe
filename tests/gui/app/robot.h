// SPDX-License-Identifier: Apache-2.0
// Drives the whole interface without a display, as a person would: moves the mouse, presses keys, waits.
#pragma once

#include <imgui.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "gui/app/app.h"
#include "gui/platform/headless.h"
#include "gui/platform/input_adapter.h"

namespace lanescope::gui {

// Owns an ImGui context and an App. One at a time.
class Robot {
 public:
  explicit Robot(float width = 1280, float height = 800) : width_(width), height_(height) {
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    ImGui::GetIO().ConfigInputTextCursorBlink = false;
    input_ = std::make_unique<SyntheticInput>(&keys_);
    app_ = std::make_unique<App>(nullptr, "");
    app_->SetScale(1);
    unsigned char* pixels = nullptr;
    int w = 0, h = 0;
    ImGui::GetIO().Fonts->GetTexDataAsRGBA32(&pixels, &w, &h);
    Frames(2);
  }
  ~Robot() {
    app_.reset();
    ImGui::DestroyContext();
  }
  Robot(const Robot&) = delete;
  Robot& operator=(const Robot&) = delete;

  App& app() { return *app_; }
  ViewState& state() { return app_->state(); }
  Document& document() { return app_->document(); }
  const Timeline& timeline() { return app_->document().timeline(); }

  void Frames(int count) {
    for (int i = 0; i < count; ++i) {
      SyntheticInput::BeginFrame(width_, height_, 1.0f / 60);
      ImGui::NewFrame();
      app_->Frame(keys_.Take());
      ImGui::Render();
    }
  }
  // Frames until nothing is in work, what the last frames began included. False: it took too long.
  bool Settle() {
    Frames(1);
    do {
      if (!Until([&] { return !app_->busy(); })) return false;
      Frames(5);
    } while (app_->busy());
    return true;
  }
  // The limit only ends a test that would fail: how long work takes is the machine's affair.
  bool Until(const std::function<bool()>& condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(240);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > limit) return false;
      Frames(1);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  bool Open(const std::string& path) {
    app_->Open(path);
    return Settle() && !timeline().runs().empty();
  }

  void Move(float x, float y) {
    input_->MoveMouse(x, y);
    Frames(1);
  }
  void Button(int button, bool down) {
    input_->Button(button, down);
    Frames(2);
  }
  void Click(float x, float y, int button = 0) {
    Move(x, y);
    Button(button, true);
    Button(button, false);
    // Farther apart in time than a double click.
    for (int i = 0; i < 30; ++i) Frames(1);
  }
  void Drag(float x0, float y0, float x1, float y1, int button = 0) {
    Move(x0, y0);
    Button(button, true);
    for (int i = 1; i <= 8; ++i) {
      const float share = static_cast<float>(i) / 8;
      Move(x0 + (x1 - x0) * share, y0 + (y1 - y0) * share);
    }
    Button(button, false);
    for (int i = 0; i < 30; ++i) Frames(1);
  }
  void Wheel(float steps) {
    input_->Wheel(steps);
    Frames(2);
  }
  // Holds a modifier down (without pressing anything else) or lets it go.
  void Hold(int mods, bool down) {
    input_->Key(-1, mods, down);
    keys_.Take();
    Frames(1);
  }
  void Key(int key, int mods = 0) {
    input_->Key(key, mods, true);
    Frames(2);
    input_->Key(key, 0, false);
    Frames(2);
  }
  void Type(std::string_view text) {
    for (const char c : text) {
      input_->Type(std::string_view(&c, 1));
      Frames(2);
    }
  }
  // All within one frame, as a fast typist on a slow machine.
  void TypeAtOnce(std::string_view text) {
    input_->Type(text);
    Frames(3);
  }

  // Where a slice is on the screen: the middle of its visible part. False: it is not drawn.
  bool Locate(const SliceRef& slice, float* x, float* y) {
    for (const DrawSlice& drawn : app_->plan().lanes.slices) {
      if (!(drawn.slice == slice)) continue;
      *x = state().lanes_origin.x + (drawn.x0 + drawn.x1) / 2;
      *y = state().lanes_origin.y + (drawn.y0 + drawn.y1) / 2;
      return true;
    }
    return false;
  }
  // The widest slice that is drawn on a compute lane of the run, or of any.
  SliceRef WidestSlice(RunKey run = 0) {
    SliceRef widest;
    float width = 0;
    for (const DrawSlice& drawn : app_->plan().lanes.slices) {
      const ShownRun* shown = timeline().Find(drawn.slice.run);
      if (shown == nullptr || drawn.merged || (run != 0 && drawn.slice.run != run)) continue;
      if (shown->data->lanes[static_cast<size_t>(drawn.slice.lane)].role != LaneRole::kCompute) continue;
      if (drawn.x1 - drawn.x0 > width && drawn.y0 >= 0) {
        width = drawn.x1 - drawn.x0;
        widest = drawn.slice;
      }
    }
    return widest;
  }
  Image Picture() { return RenderOffscreen(ImGui::GetDrawData(), app_->background(), Renderer::kSoftware); }

 private:
  float width_, height_;
  KeyQueue keys_;
  std::unique_ptr<SyntheticInput> input_;
  std::unique_ptr<App> app_;
};

}  // namespace lanescope::gui
