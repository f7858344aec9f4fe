// The real window, on a virtual screen, driven from outside.
#include "gui/platform/window.h"

#include <gtest/gtest.h>
#include <imgui.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "gui/app/app.h"
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
    pollfd wait{.fd = ends[0], .events = POLLIN, .revents = 0};
    char text[16] = {};
    if (pid_ > 0 && poll(&wait, 1, 20000) > 0 && read(ends[0], text, sizeof(text) - 1) > 0) {
      display_ = ":" + std::to_string(std::atoi(text));
    }
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

// Runs frames while `command` runs in a shell, and some more. Each frame takes `frame_ms`.
void FramesWhile(const std::string& command, int frame_ms, Window* window, App* app) {
  std::atomic<bool> done{false};
  std::thread driver([&] {
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    done = true;
    Window::Wake();
  });
  for (int rest = 4; rest > 0;) {
    window->WaitForEvents(0.02);
    window->Frame([&] { app->Frame(window->keys().Take()); }, app->background());
    std::this_thread::sleep_for(std::chrono::milliseconds(frame_ms));
    if (done) --rest;
  }
  driver.join();
}

// Input: clicks, wheel, drag, and 20 typed keys at two frames a second. Law: the view changes as it does for
// the robot, and 20 of 20 keys arrive.
TEST(WindowTest, ARealWindowTakesMouseAndKeys) {
  if (!IsInstalled("Xvfb") || !IsInstalled("xdotool")) {
    GTEST_SKIP() << "needs Xvfb and xdotool (packages xvfb, xdotool)";
  }
  VirtualScreen screen;
  if (screen.Display().empty()) GTEST_SKIP() << "Xvfb does not start here";
  setenv("DISPLAY", screen.Display().c_str(), 1);
  unsetenv("WAYLAND_DISPLAY");
  ImGui::CreateContext();
  ImGui::GetIO().IniFilename = nullptr;
  {
    Window window("Lanescope test", 1200, 700);
    App app(Window::Wake, "");
    app.SetScale(1);
    window.UploadFonts();
    app.document().timeline().Add(MeasuredRun());
    app.document().timeline().Add(PredictedRun());
    FramesWhile("xdotool search --sync --name 'Lanescope test' windowfocus --sync", 1, &window, &app);
    const double span = app.state().view.end() - app.state().view.begin();
    const int x = static_cast<int>(app.state().lanes_origin.x) + 200;
    const int y = static_cast<int>(app.state().lanes_origin.y) + 40;
    const std::string at = std::to_string(x) + " " + std::to_string(y);
    FramesWhile("xdotool mousemove " + at + " sleep 0.2 click 4 sleep 0.2 click 4 sleep 0.2", 1, &window,
                &app);
    EXPECT_LT(app.state().view.end() - app.state().view.begin(), span);
    FramesWhile("xdotool mousemove " + at +
                    " mousedown 1 sleep 0.1 mousemove_relative 60 30 sleep 0.1 "
                    "mousemove_relative 60 30 sleep 0.1 mouseup 1 sleep 0.2",
                1, &window, &app);
    EXPECT_TRUE(app.state().selection.area.has_value());
    FramesWhile("xdotool key Escape sleep 0.3", 1, &window, &app);
    EXPECT_TRUE(app.state().selection.empty());
    FramesWhile("xdotool key --delay 8 slash a b c d e f g h i j k l m n o p q r s", 500, &window, &app);
    EXPECT_EQ(app.state().search, "abcdefghijklmnopqrs");
  }
  ImGui::DestroyContext();
}

}  // namespace
}  // namespace lanescope::gui
