// SPDX-License-Identifier: Apache-2.0
#include "gui/platform/window.h"

#define GLFW_INCLUDE_GLCOREARB
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace lanescope::gui {

struct Window::Impl {
  GLFWwindow* window = nullptr;
  Window* owner = nullptr;
  std::vector<std::string> dropped;
  // GLFW has loaded them; linking libGL would cost every start of the program.
  PFNGLVIEWPORTPROC viewport = nullptr;
  PFNGLCLEARCOLORPROC clear_color = nullptr;
  PFNGLCLEARPROC clear = nullptr;
};

namespace {

std::string last_error;  // GLFW reports on the main thread only

void KeepError(int, const char* description) { last_error = description; }

Window* OwnerOf(GLFWwindow* window) { return static_cast<Window*>(glfwGetWindowUserPointer(window)); }

void OnKey(GLFWwindow* window, int key, int, int action, int mods) {
  if (action != GLFW_RELEASE) OwnerOf(window)->keys().Push({.key = key, .mods = mods, .character = 0});
}

void OnCharacter(GLFWwindow* window, unsigned character) {
  OwnerOf(window)->keys().Push({.key = 0, .mods = 0, .character = character});
}

GLFWwindow* CreateWindow(const std::string& title, int width, int height) {
  constexpr std::pair<int, int> kVersions[] = {{3, 3}, {3, 2}, {3, 0}};
  for (const auto& [major, minor] : kVersions) {
    glfwDefaultWindowHints();
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, major);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, minor);
    glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
    if (minor >= 2) glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    if (GLFWwindow* window = glfwCreateWindow(width, height, title.c_str(), nullptr, nullptr)) return window;
  }
  return nullptr;
}

// A window that is larger than the screen without its panels and borders is made smaller; not every window
// manager does it.
void FitToScreen(GLFWwindow* window) {
  GLFWmonitor* monitor = glfwGetPrimaryMonitor();
  if (monitor == nullptr) return;
  int x = 0, y = 0, most_width = 0, most_height = 0;
  glfwGetMonitorWorkarea(monitor, &x, &y, &most_width, &most_height);
  int left = 0, top = 0, right = 0, bottom = 0, width = 0, height = 0;
  glfwGetWindowFrameSize(window, &left, &top, &right, &bottom);
  glfwGetWindowSize(window, &width, &height);
  most_width -= left + right;
  most_height -= top + bottom;
  if (most_width <= 0 || most_height <= 0 || (width <= most_width && height <= most_height)) return;
  glfwSetWindowSize(window, std::min(width, most_width), std::min(height, most_height));
  glfwSetWindowPos(window, x + left, y + top);
}

}  // namespace

Window::Window(const std::string& title, int width, int height) : impl_(std::make_unique<Impl>()) {
  glfwSetErrorCallback(KeepError);
  if (glfwInit() == GLFW_FALSE) {
    Throw(Code::kFailedPrecondition,
          "cannot open a window ({}); --screenshot FILE.png works without a display", last_error);
  }
  impl_->window = CreateWindow(title, width, height);
  if (impl_->window == nullptr) {
    glfwTerminate();
    Throw(Code::kFailedPrecondition,
          "cannot open a window with OpenGL 3 ({}); --screenshot FILE.png does without", last_error);
  }
  FitToScreen(impl_->window);
  glfwMakeContextCurrent(impl_->window);
  glfwSwapInterval(1);
  impl_->viewport = reinterpret_cast<PFNGLVIEWPORTPROC>(glfwGetProcAddress("glViewport"));
  impl_->clear_color = reinterpret_cast<PFNGLCLEARCOLORPROC>(glfwGetProcAddress("glClearColor"));
  impl_->clear = reinterpret_cast<PFNGLCLEARPROC>(glfwGetProcAddress("glClear"));
  glfwSetWindowUserPointer(impl_->window, this);
  glfwSetWindowSizeLimits(impl_->window, 640, 400, GLFW_DONT_CARE, GLFW_DONT_CARE);
  // Before ImGui's, which pass on to these.
  glfwSetKeyCallback(impl_->window, OnKey);
  glfwSetCharCallback(impl_->window, OnCharacter);
  impl_->owner = this;
  glfwSetDropCallback(impl_->window, [](GLFWwindow* window, int count, const char** paths) {
    std::vector<std::string>& dropped = OwnerOf(window)->impl_->dropped;
    dropped.insert(dropped.end(), paths, paths + count);
  });
  ImGui_ImplGlfw_InitForOpenGL(impl_->window, true);
  ImGui_ImplOpenGL3_Init("#version 130");
}

Window::~Window() {
  ImGui_ImplOpenGL3_Shutdown();
  ImGui_ImplGlfw_Shutdown();
  glfwDestroyWindow(impl_->window);
  glfwTerminate();
}

bool Window::ShouldClose() const { return glfwWindowShouldClose(impl_->window) != 0; }

void Window::WaitForEvents(double seconds) {
  if (seconds < 0) {
    glfwWaitEvents();
  } else if (seconds == 0) {
    glfwPollEvents();
  } else {
    glfwWaitEventsTimeout(seconds);
  }
}

void Window::Frame(const std::function<void()>& build, uint32_t background) {
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  ImGui::NewFrame();
  build();
  ImGui::Render();
  int width = 0, height = 0;
  glfwGetFramebufferSize(impl_->window, &width, &height);
  impl_->viewport(0, 0, width, height);
  const ImVec4 colour = ImGui::ColorConvertU32ToFloat4(background);
  impl_->clear_color(colour.x, colour.y, colour.z, 1);
  impl_->clear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  glfwSwapBuffers(impl_->window);
}

void Window::Wake() { glfwPostEmptyEvent(); }

std::vector<std::string> Window::TakeDroppedFiles() { return std::exchange(impl_->dropped, {}); }

float Window::ContentScale() const {
  float x = 1, y = 1;
  glfwGetWindowContentScale(impl_->window, &x, &y);
  return std::clamp(std::max(x, y), 0.5f, 4.0f);
}

void Window::UploadFonts() {
  ImGui_ImplOpenGL3_DestroyFontsTexture();
  ImGui_ImplOpenGL3_CreateFontsTexture();
}

}  // namespace lanescope::gui
