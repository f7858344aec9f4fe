// SPDX-License-Identifier: Apache-2.0
#include "gui/gui.h"

#include <imgui.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "core/base/error.h"
#include "gui/app/app.h"
#include "gui/app/recent_files.h"
#include "gui/platform/headless.h"
#include "gui/platform/png_file.h"
#include "gui/platform/window.h"
#include "traces/import/import.h"
#include "traces/read/trace_reader.h"

namespace lanescope::gui {
namespace {

// Frames after an event until everything that it caused has settled.
constexpr int kSettleFrames = 5;
constexpr double kBusySeconds = 0.05;  // between frames while something is computed
constexpr double kIdleSeconds = 0.5;   // between looks at Ctrl-C while nothing changes

class ImGuiSession {
 public:
  ImGuiSession() {
    IMGUI_CHECKVERSION();
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.LogFilename = nullptr;
    io.ConfigInputTextCursorBlink = false;  // a blinking cursor would keep the program awake
    io.ConfigWindowsMoveFromTitleBarOnly = true;
  }
  ~ImGuiSession() { ImGui::DestroyContext(); }
  ImGuiSession(const ImGuiSession&) = delete;
  ImGuiSession& operator=(const ImGuiSession&) = delete;
};

bool IsInterrupted(const GuiOptions& options) {
  return options.interrupted != nullptr && options.interrupted->load(std::memory_order_relaxed);
}

void Prepare(const GuiOptions& options, App* app) {
  app->state().theme = options.theme == "light" ? ThemeName::kLight : ThemeName::kDark;
  app->Show(ParseViewOptions(options.view));
  for (const std::string& file : options.files) app->Open(file);
}

void MakeScreenshot(const GuiOptions& options) {
  for (const std::string& file : options.files) {
    if (traces::FilesToImport(file).empty())
      traces::TraceReader reader(file);  // throws what is wrong with it
  }
  ImGuiSession session;
  SyntheticInput input(nullptr);
  App app(nullptr, "");
  Prepare(options, &app);
  app.SetScale(options.scale > 0 ? static_cast<float>(options.scale) : 1);
  unsigned char* pixels = nullptr;
  int width = 0, height = 0;
  ImGui::GetIO().Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
  for (int settled = 0; settled < kSettleFrames; ++settled) {
    if (IsInterrupted(options)) Throw(Code::kCancelled, "interrupted; no picture was written");
    SyntheticInput::BeginFrame(static_cast<float>(options.width), static_cast<float>(options.height),
                               1.0f / 60);
    ImGui::NewFrame();
    app.Frame({});
    ImGui::Render();
    if (!app.busy()) continue;
    settled = -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  app.ThrowIfUnopened();
  if (const std::string problem = app.view_problem(); !problem.empty()) {
    Throw(Code::kNotFound, "{}; no picture was written", problem);
  }
  WritePng(options.screenshot, RenderOffscreen(ImGui::GetDrawData(), app.background(), Renderer::kAny));
}

// Sleeps until something arrives or Ctrl-C was pressed. False: only time has passed.
bool WaitForSomething(Window* window, double seconds) {
  const auto before = std::chrono::steady_clock::now();
  window->WaitForEvents(seconds);
  const std::chrono::duration<double> slept = std::chrono::steady_clock::now() - before;
  return slept.count() < seconds * 0.98;
}

void RunWindow(const GuiOptions& options) {
  ImGuiSession session;
  Window window("Lanescope", options.width, options.height);
  App app(Window::Wake, RecentFilesPath());
  Prepare(options, &app);
  float scale = 0;
  int frames_due = kSettleFrames;
  while (!window.ShouldClose() && !app.wants_quit() && !IsInterrupted(options)) {
    const float wanted = options.scale > 0 ? static_cast<float>(options.scale) : window.ContentScale();
    if (wanted != scale) {
      app.SetScale(scale = wanted);
      window.UploadFonts();
    }
    window.Frame([&] { app.Frame(window.keys().Take()); }, app.background());
    for (const std::string& file : window.TakeDroppedFiles()) app.Open(file);
    if (frames_due > 0) {
      --frames_due;
      window.WaitForEvents(0);
    } else if (app.busy()) {
      if (WaitForSomething(&window, kBusySeconds)) frames_due = kSettleFrames;
    } else {
      while (!WaitForSomething(&window, kIdleSeconds) && !IsInterrupted(options)) {
      }
      frames_due = kSettleFrames;
    }
  }
}

}  // namespace

void RunGui(const GuiOptions& options) {
  ParseViewOptions(options.view);
  if (options.screenshot.empty()) {
    RunWindow(options);
  } else {
    MakeScreenshot(options);
  }
}

}  // namespace lanescope::gui
