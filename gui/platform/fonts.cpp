// SPDX-License-Identifier: Apache-2.0
#include "gui/platform/fonts.h"

#include <imgui.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <string_view>

namespace lanescope::gui {
namespace {

constexpr float kTextPixels = 15.0f;
constexpr float kSmallPixels = 13.0f;
constexpr float kTitlePixels = 28.0f;

constexpr std::array<std::string_view, 5> kFolders = {
    "/usr/share/fonts/truetype/dejavu/", "/usr/share/fonts/dejavu/", "/usr/share/fonts/dejavu-sans-fonts/",
    "/usr/share/fonts/TTF/", "/usr/local/share/fonts/"};
constexpr std::array<std::string_view, 4> kOtherText = {
    "/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf", "/usr/share/fonts/noto/NotoSans-Regular.ttf",
    "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
    "/usr/share/fonts/truetype/freefont/FreeSans.ttf"};

// Latin with its extensions, Greek, and the punctuation, arrows and shapes that the panels use.
const ImWchar* GlyphRanges() {
  static const ImWchar ranges[] = {0x0020, 0x024F, 0x0370, 0x03FF, 0x2010, 0x2044, 0x2190, 0x21FF,
                                   0x2200, 0x22FF, 0x25A0, 0x25FF, 0x2713, 0x2717, 0};
  return ranges;
}

std::string Find(std::string_view name) {
  for (const std::string_view folder : kFolders) {
    const std::string path = std::string(folder) + std::string(name);
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

std::string FindText() {
  std::string path = Find("DejaVuSans.ttf");
  for (size_t i = 0; path.empty() && i < kOtherText.size(); ++i) {
    if (access(std::string(kOtherText[i]).c_str(), R_OK) == 0) path = kOtherText[i];
  }
  return path;
}

ImFont* AddFont(const std::string& path, float pixels, const ImWchar* ranges) {
  ImGuiIO& io = ImGui::GetIO();
  ImFontConfig config;
  config.OversampleH = 1;  // text starts at whole pixels, and pictures are the same everywhere
  config.OversampleV = 1;
  config.PixelSnapH = true;
  if (!path.empty()) {
    return io.Fonts->AddFontFromFileTTF(path.c_str(), std::round(pixels), &config, ranges);
  }
  config.SizePixels = std::round(pixels * 0.9f);
  return io.Fonts->AddFontDefault(&config);
}

}  // namespace

Fonts LoadFonts(float scale) {
  ImGuiIO& io = ImGui::GetIO();
  io.Fonts->Clear();
  io.Fonts->Flags |= ImFontAtlasFlags_NoBakedLines;
  Fonts fonts;
  fonts.file = FindText();
  fonts.text = AddFont(fonts.file, kTextPixels * scale, GlyphRanges());
  fonts.title = AddFont(fonts.file, kTitlePixels * scale, io.Fonts->GetGlyphRangesDefault());
  fonts.small = AddFont(fonts.file, kSmallPixels * scale, GlyphRanges());
  const std::string mono = Find("DejaVuSansMono.ttf");
  fonts.mono = AddFont(mono.empty() ? fonts.file : mono, kTextPixels * scale * 0.95f, GlyphRanges());
  io.Fonts->Build();
  fonts.has_signs = fonts.text->FindGlyphNoFallback(0x0394) != nullptr &&
                    fonts.text->FindGlyphNoFallback(0x2192) != nullptr;
  io.FontDefault = fonts.text;
  return fonts;
}

}  // namespace lanescope::gui
