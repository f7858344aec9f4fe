// SPDX-License-Identifier: Apache-2.0
// The real window, on a virtual screen, driven from outside.
#include "gui/platform/window.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <gtest/gtest.h>
#include <imgui.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gui/app/app.h"
#include "gui/app/view_state.h"
#include "tests/gui/app/synthetic_runs.h"

namespace lanescope::gui {
namespace {

bool IsInstalled(const std::string& program) {
  return std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
}

// An X server without a screen. Display() is empty where it did not start.
class VirtualScreen {
 public:
  VirtualScreen() {
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      const std::string number = std::to_string(ends[1]);
      std::freopen("/dev/null", "w", stderr);
      execlp("Xvfb", "Xvfb", "-displayfd", number.c_str(), "-screen", "0", "1280x800x24", "-nolisten", "tcp",
             static_cast<char*>(nullptr));
      _exit(127);
    }
    close(ends[1]);
    // To the end of the line: a server that cannot write all of it dies.
    pollfd wait{.fd = ends[0], .events = POLLIN, .revents = 0};
    std::string line;
    char next = 0;
    while (pid_ > 0 && next != '\n' && poll(&wait, 1, 20000) > 0 && read(ends[0], &next, 1) == 1)
      line += next;
    if (next == '\n') display_ = ":" + std::to_string(std::atoi(line.c_str()));
    close(ends[0]);
  }
  ~VirtualScreen() {
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  VirtualScreen(const VirtualScreen&) = delete;
  VirtualScreen& operator=(const VirtualScreen&) = delete;
  const std::string& Display() const { return display_; }

 private:
  pid_t pid_ = -1;
  std::string display_;
};

// Runs frames until `command`, which runs in a shell, has ended and `expected` holds; says whether it came to
// hold. Each frame takes `frame_ms`. The limit only ends a test that would fail: events may take any number
// of frames to arrive, since ImGui hands a press and the moves around it to different frames.
bool FramesUntil(const std::string& command, int frame_ms, Window* window, App* app,
                 const std::function<bool()>& expected) {
  std::atomic<bool> done{false};
  std::thread driver([&] {
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    done = true;
    Window::Wake();
  });
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool holds = false;
  while (!done || (!holds && std::chrono::steady_clock::now() < limit)) {
    window->WaitForEvents(0.02);
    window->Frame([&] { app->Frame(window->keys().Take()); }, app->background());
    std::this_thread::sleep_for(std::chrono::milliseconds(frame_ms));
    holds = expected();
  }
  driver.join();
  return holds;
}

// A virtual screen of 1280 x 800, and ImGui.
class WindowTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!IsInstalled("Xvfb") || !IsInstalled("xdotool")) {
      GTEST_SKIP() << "needs Xvfb and xdotool (packages xvfb, xdotool)";
    }
    screen_ = std::make_unique<VirtualScreen>();
    if (screen_->Display().empty()) GTEST_SKIP() << "Xvfb does not start here";
    setenv("DISPLAY", screen_->Display().c_str(), 1);
    unsetenv("WAYLAND_DISPLAY");
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
  }
  void TearDown() override {
    if (ImGui::GetCurrentContext() != nullptr) ImGui::DestroyContext();
  }

 private:
  std::unique_ptr<VirtualScreen> screen_;
};

// Input: clicks, wheel, drag, 20 typed keys at two frames a second, and dropped files. Law: the view changes
// as it does for the robot, 20 of 20 keys arrive, and so do the files, once.
TEST_F(WindowTest, ARealWindowTakesMouseAndKeys) {
  Window window("Lanescope test", 1200, 700);
  App app(Window::Wake, "");
  app.SetScale(1);
  window.UploadFonts();
  app.document().timeline().Add(MeasuredRun());
  app.document().timeline().Add(PredictedRun());
  const ViewState& state = app.state();
  const auto span = [&] { return state.view.end() - state.view.begin(); };
  // The lanes have their place once a frame was drawn.
  ASSERT_TRUE(FramesUntil("xdotool search --sync --name 'Lanescope test' windowfocus --sync", 1, &window,
                          &app, [&] { return state.lanes_origin.x > 0 && span() > 0; }));
  const double whole = span();
  const int x = static_cast<int>(state.lanes_origin.x) + 200;
  const int y = static_cast<int>(state.lanes_origin.y) + 40;
  const auto at = [](int left, int top) { return std::to_string(left) + " " + std::to_string(top); };
  // ImGui 1.86 asks for place and buttons once a frame: what comes and goes between two frames is not a
  // drag.
  const ImGuiIO& io = ImGui::GetIO();
  const auto mouse_is_at = [&io](int left, int top) { return io.MousePos.x == left && io.MousePos.y == top; };
  EXPECT_TRUE(
      FramesUntil("xdotool mousemove " + at(x, y), 1, &window, &app, [&] { return mouse_is_at(x, y); }));
  EXPECT_TRUE(
      FramesUntil("xdotool click 4 sleep 0.1 click 4", 1, &window, &app, [&] { return span() < whole; }));
  EXPECT_TRUE(FramesUntil("xdotool mousedown 1", 1, &window, &app, [&] { return io.MouseDown[0]; }));
  EXPECT_TRUE(FramesUntil("xdotool mousemove " + at(x + 60, y + 30), 1, &window, &app,
                          [&] { return mouse_is_at(x + 60, y + 30); }));
  EXPECT_TRUE(FramesUntil("xdotool mousemove " + at(x + 120, y + 60), 1, &window, &app,
                          [&] { return mouse_is_at(x + 120, y + 60) && state.selection.area.has_value(); }));
  EXPECT_TRUE(FramesUntil("xdotool mouseup 1", 1, &window, &app, [&] { return !io.MouseDown[0]; }));
  EXPECT_TRUE(state.selection.area.has_value());
  EXPECT_TRUE(FramesUntil("xdotool key Escape", 1, &window, &app, [&] { return state.selection.empty(); }));
  EXPECT_TRUE(FramesUntil("xdotool key --delay 8 slash a b c d e f g h i j k l m n o p q r s", 500, &window,
                          &app, [&] { return state.search == "abcdefghijklmnopqrs"; }))
      << state.search;
  // GLFW calls this when files are dropped.
  GLFWwindow* native = glfwGetCurrentContext();
  const GLFWdropfun drop = glfwSetDropCallback(native, nullptr);
  glfwSetDropCallback(native, drop);
  const char* paths[] = {"/a.db", "/b c.db"};
  ASSERT_NE(drop, nullptr);
  drop(native, 2, paths);
  EXPECT_EQ(window.TakeDroppedFiles(), (std::vector<std::string>{"/a.db", "/b c.db"}));
  EXPECT_TRUE(window.TakeDroppedFiles().empty());
}

// Input: a window of 3000 x 2000 on a screen of 1280 x 800. Law: it is as large as the screen.
TEST_F(WindowTest, AWindowLargerThanTheScreenIsMadeToFit) {
  Window window("Lanescope test", 3000, 2000);
  App app(Window::Wake, "");
  app.SetScale(1);
  window.UploadFonts();
  const ImVec2& size = ImGui::GetIO().DisplaySize;
  EXPECT_TRUE(FramesUntil("true", 1, &window, &app, [&] { return size.x == 1280 && size.y == 800; }));
}

}  // namespace
}  // namespace lanescope::gui
