// SPDX-License-Identifier: Apache-2.0
#include "gui/platform/headless.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/glcorearb.h>
#include <backends/imgui_impl_opengl3.h>
#include <dlfcn.h>
#include <imgui.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "core/base/error.h"
#include "gui/platform/software_raster.h"

namespace lanescope::gui {
namespace {

// libEGL, loaded when a picture is wanted.
class EglLibrary {
 public:
  EglLibrary() : handle_(dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) Throw(Code::kUnimplemented, "libEGL.so.1 is not there");
  }
  EglLibrary(const EglLibrary&) = delete;
  EglLibrary& operator=(const EglLibrary&) = delete;
  // Never unloaded: drivers leave threads and exit handlers behind.

  template <typename Function>
  Function* Get(const char* name, Function*) const {
    void* address = dlsym(handle_, name);
    if (address == nullptr) Throw(Code::kUnimplemented, "libEGL lacks {}", name);
    return reinterpret_cast<Function*>(address);
  }

 private:
  void* handle_;
};

#define LANESCOPE_EGL(library, name) (library).Get(#name, static_cast<decltype(&name)>(nullptr))

// A context without a display, current while it lives.
class OffscreenContext {
 public:
  OffscreenContext(int width, int height);
  ~OffscreenContext() {
    if (display_ == EGL_NO_DISPLAY) return;
    LANESCOPE_EGL(egl_, eglMakeCurrent)(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    LANESCOPE_EGL(egl_, eglTerminate)(display_);
  }
  OffscreenContext(const OffscreenContext&) = delete;
  OffscreenContext& operator=(const OffscreenContext&) = delete;

  template <typename Function>
  Function Gl(const char* name) const {
    const auto address = LANESCOPE_EGL(egl_, eglGetProcAddress)(name);
    if (address == nullptr) Throw(Code::kUnimplemented, "OpenGL lacks {}", name);
    return reinterpret_cast<Function>(address);
  }

 private:
  EglLibrary egl_;
  EGLDisplay display_ = EGL_NO_DISPLAY;
};

OffscreenContext::OffscreenContext(int width, int height) {
  const auto get_display = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(
      LANESCOPE_EGL(egl_, eglGetProcAddress)("eglGetPlatformDisplayEXT"));
  if (get_display == nullptr) Throw(Code::kUnimplemented, "EGL knows no platform without a display");
  const EGLDisplay display = get_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
  if (display == EGL_NO_DISPLAY || !LANESCOPE_EGL(egl_, eglInitialize)(display, nullptr, nullptr)) {
    Throw(Code::kUnimplemented, "EGL cannot work without a display here");
  }
  display_ = display;
  const EGLint wanted[] = {EGL_SURFACE_TYPE,
                           EGL_PBUFFER_BIT,
                           EGL_RENDERABLE_TYPE,
                           EGL_OPENGL_BIT,
                           EGL_RED_SIZE,
                           8,
                           EGL_GREEN_SIZE,
                           8,
                           EGL_BLUE_SIZE,
                           8,
                           EGL_NONE};
  EGLConfig config = nullptr;
  EGLint configs = 0;
  const bool chosen =
      LANESCOPE_EGL(egl_, eglChooseConfig)(display, wanted, &config, 1, &configs) != EGL_FALSE && configs > 0;
  const EGLint size[] = {EGL_WIDTH, width, EGL_HEIGHT, height, EGL_NONE};
  const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION,
                            3,
                            EGL_CONTEXT_MINOR_VERSION,
                            3,
                            EGL_CONTEXT_OPENGL_PROFILE_MASK,
                            EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                            EGL_NONE};
  LANESCOPE_EGL(egl_, eglBindAPI)(EGL_OPENGL_API);
  const EGLSurface surface =
      chosen ? LANESCOPE_EGL(egl_, eglCreatePbufferSurface)(display, config, size) : EGL_NO_SURFACE;
  const EGLContext context =
      chosen ? LANESCOPE_EGL(egl_, eglCreateContext)(display, config, EGL_NO_CONTEXT, version)
             : EGL_NO_CONTEXT;
  if (surface == EGL_NO_SURFACE || context == EGL_NO_CONTEXT ||
      !LANESCOPE_EGL(egl_, eglMakeCurrent)(display, surface, surface, context)) {
    LANESCOPE_EGL(egl_, eglTerminate)(display);
    display_ = EGL_NO_DISPLAY;
    Throw(Code::kUnimplemented, "EGL gives no OpenGL 3.3 context without a display");
  }
}

void FlipRows(Image* image) {
  const size_t row = static_cast<size_t>(image->width) * 4;
  for (int y = 0; y < image->height / 2; ++y) {
    std::swap_ranges(image->pixel(0, y), image->pixel(0, y) + row, image->pixel(0, image->height - 1 - y));
  }
}

Image RenderOpenGl(ImDrawData* data, uint32_t background) {
  const int width = static_cast<int>(data->DisplaySize.x * data->FramebufferScale.x);
  const int height = static_cast<int>(data->DisplaySize.y * data->FramebufferScale.y);
  const OffscreenContext context(width, height);
  if (!ImGui_ImplOpenGL3_Init("#version 130")) Throw(Code::kUnimplemented, "ImGui finds no OpenGL 3");
  ImGui_ImplOpenGL3_NewFrame();  // makes shaders and the font texture
  // The commands were built before there was a texture.
  const ImTextureID texture = ImGui::GetIO().Fonts->TexID;
  for (int i = 0; i < data->CmdListsCount; ++i) {
    for (ImDrawCmd& command : data->CmdLists[i]->CmdBuffer) command.TextureId = texture;
  }
  const ImVec4 colour = ImGui::ColorConvertU32ToFloat4(background);
  context.Gl<PFNGLVIEWPORTPROC>("glViewport")(0, 0, width, height);
  context.Gl<PFNGLCLEARCOLORPROC>("glClearColor")(colour.x, colour.y, colour.z, 1);
  context.Gl<PFNGLCLEARPROC>("glClear")(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(data);
  Image image(width, height);
  context.Gl<PFNGLPIXELSTOREIPROC>("glPixelStorei")(GL_PACK_ALIGNMENT, 4);
  context.Gl<PFNGLREADPIXELSPROC>("glReadPixels")(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE,
                                                  image.rgba.data());
  ImGui_ImplOpenGL3_Shutdown();
  FlipRows(&image);
  for (size_t i = 3; i < image.rgba.size(); i += 4) image.rgba[i] = 255;
  return image;
}

}  // namespace

Image RenderOffscreen(ImDrawData* data, uint32_t background, Renderer renderer) {
  if (renderer == Renderer::kSoftware) return Rasterize(*data, background);
  try {
    return RenderOpenGl(data, background);
  } catch (const Error&) {
    if (renderer == Renderer::kOpenGl) throw;
    return Rasterize(*data, background);
  }
}

}  // namespace lanescope::gui
