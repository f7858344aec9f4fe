// SPDX-License-Identifier: Apache-2.0
#include "gui/app/theme.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lanescope::gui {
namespace {

constexpr ImU32 Rgb(uint32_t rgb) { return IM_COL32((rgb >> 16) & 255, (rgb >> 8) & 255, rgb & 255, 255); }

Theme MakeDark() {
  Theme theme;
  theme.name = ThemeName::kDark;
  theme.background = Rgb(0x16191d);
  theme.panel = Rgb(0x1d2126);
  theme.lane = Rgb(0x1a1d22);
  theme.lane_other = Rgb(0x1f2328);
  theme.grid = Rgb(0x2f353c);
  theme.border = Rgb(0x3a414a);
  theme.text = Rgb(0xe6e9ed);
  theme.text_dim = Rgb(0x9aa4b0);
  theme.accent = Rgb(0x3d7fc1);
  theme.selection = Rgb(0xffffff);
  theme.area = IM_COL32(120, 170, 230, 50);
  theme.mark = Rgb(0xf0e442);
  theme.hit = Rgb(0xf0e442);
  theme.critical = Rgb(0xff5c8a);
  theme.arrow = Rgb(0xd7dde4);
  theme.memory = Rgb(0x2f9e86);
  theme.limit = Rgb(0xff6b4a);
  theme.measured = Rgb(0x56b4e9);
  theme.simulated = Rgb(0xb9a3e3);
  theme.emulated = Rgb(0xe69f00);
  theme.hardware = Rgb(0x35c28f);
  theme.what_if = Rgb(0xf28cc0);
  theme.good = Rgb(0x6cb8f0);
  theme.bad = Rgb(0xf5923e);
  return theme;
}

Theme MakeLight() {
  Theme theme;
  theme.name = ThemeName::kLight;
  theme.background = Rgb(0xf4f5f7);
  theme.panel = Rgb(0xffffff);
  theme.lane = Rgb(0xffffff);
  theme.lane_other = Rgb(0xf6f7f9);
  theme.grid = Rgb(0xdfe3e8);
  theme.border = Rgb(0xc3c9d1);
  theme.text = Rgb(0x1b2027);
  theme.text_dim = Rgb(0x5b6672);
  theme.accent = Rgb(0x2f6fb0);
  theme.selection = Rgb(0x000000);
  theme.area = IM_COL32(40, 100, 180, 45);
  theme.mark = Rgb(0x9a6b00);
  theme.hit = Rgb(0xc58a00);
  theme.critical = Rgb(0xc2185b);
  theme.arrow = Rgb(0x39424d);
  theme.memory = Rgb(0x5fbfa8);
  theme.limit = Rgb(0xc23616);
  theme.measured = Rgb(0x0067a5);
  theme.simulated = Rgb(0x6a4fb3);
  theme.emulated = Rgb(0x9a5d00);
  theme.hardware = Rgb(0x00724f);
  theme.what_if = Rgb(0xa8326f);
  theme.good = Rgb(0x0067a5);
  theme.bad = Rgb(0xb84700);
  return theme;
}

// Relative luminance as WCAG 2 defines it.
float Luminance(ImU32 colour) {
  const ImVec4 c = ImGui::ColorConvertU32ToFloat4(colour);
  const auto linear = [](float v) {
    return v <= 0.03928f ? v / 12.92f : std::pow((v + 0.055f) / 1.055f, 2.4f);
  };
  return 0.2126f * linear(c.x) + 0.7152f * linear(c.y) + 0.0722f * linear(c.z);
}

void SetColours(const Theme& theme, ImGuiStyle* style) {
  const auto set = [&](ImGuiCol index, ImU32 colour) {
    style->Colors[index] = ImGui::ColorConvertU32ToFloat4(colour);
  };
  theme.name == ThemeName::kDark ? ImGui::StyleColorsDark(style) : ImGui::StyleColorsLight(style);
  const ImU32 raised = Mix(theme.panel, theme.text, 0.10f), higher = Mix(theme.panel, theme.text, 0.18f);
  set(ImGuiCol_Text, theme.text);
  set(ImGuiCol_TextDisabled, theme.text_dim);
  set(ImGuiCol_WindowBg, theme.panel);
  set(ImGuiCol_ChildBg, 0);
  set(ImGuiCol_PopupBg, Mix(theme.panel, theme.text, 0.04f));
  set(ImGuiCol_Border, Mix(theme.border, theme.text, 0.18f));
  set(ImGuiCol_FrameBg, raised);
  set(ImGuiCol_FrameBgHovered, higher);
  set(ImGuiCol_FrameBgActive, higher);
  set(ImGuiCol_MenuBarBg, theme.panel);
  set(ImGuiCol_Button, raised);
  set(ImGuiCol_ButtonHovered, Mix(theme.panel, theme.accent, 0.55f));
  set(ImGuiCol_ButtonActive, theme.accent);
  set(ImGuiCol_Header, Mix(theme.panel, theme.accent, 0.40f));
  set(ImGuiCol_HeaderHovered, Mix(theme.panel, theme.accent, 0.30f));
  set(ImGuiCol_HeaderActive, Mix(theme.panel, theme.accent, 0.55f));
  set(ImGuiCol_Tab, theme.panel);
  set(ImGuiCol_TabHovered, Mix(theme.panel, theme.accent, 0.55f));
  set(ImGuiCol_TabActive, Mix(theme.panel, theme.accent, 0.40f));
  set(ImGuiCol_CheckMark, Mix(theme.accent, theme.text, 0.35f));
  set(ImGuiCol_SliderGrab, theme.accent);
  set(ImGuiCol_SliderGrabActive, Mix(theme.accent, theme.text, 0.3f));
  set(ImGuiCol_Separator, theme.border);
  set(ImGuiCol_ScrollbarBg, 0);
  set(ImGuiCol_TableHeaderBg, raised);
  set(ImGuiCol_TableBorderStrong, theme.border);
  set(ImGuiCol_TableBorderLight, theme.grid);
  set(ImGuiCol_TableRowBgAlt, WithAlpha(theme.text, 0.03f));
  set(ImGuiCol_PlotHistogram, theme.accent);
  set(ImGuiCol_TextSelectedBg, WithAlpha(theme.accent, 0.45f));
}

// Okabe and Ito's set without black, then four of Paul Tol's that stay apart from them.
constexpr std::array<uint32_t, 12> kCategories = {0x56b4e9, 0xe69f00, 0x009e73, 0xcc79a7, 0x0072b2, 0xd55e00,
                                                  0xf0e442, 0x44aa99, 0x882255, 0x999933, 0x88ccee, 0xaa4499};

}  // namespace

const Theme& ThemeOf(ThemeName name) {
  static const Theme dark = MakeDark(), light = MakeLight();
  return name == ThemeName::kDark ? dark : light;
}

void ApplyTheme(const Theme& theme, float scale) {
  ImGuiStyle style;
  style.WindowPadding = ImVec2(8, 6);
  style.FramePadding = ImVec2(6, 3);
  style.ItemSpacing = ImVec2(6, 4);
  style.CellPadding = ImVec2(5, 2);
  style.ScrollbarSize = 12;
  style.WindowBorderSize = 0;
  style.ChildBorderSize = 1;
  style.PopupBorderSize = 1;
  style.FrameBorderSize = 1;
  style.FrameRounding = 3;
  style.PopupRounding = 4;
  style.GrabRounding = 3;
  style.TabRounding = 3;
  style.ScrollbarRounding = 6;
  style.AntiAliasedLinesUseTex = false;
  SetColours(theme, &style);
  style.ScaleAllSizes(scale);
  ImGui::GetStyle() = style;
}

ImU32 WithAlpha(ImU32 colour, float alpha) {
  const auto a = static_cast<ImU32>(std::lround(std::clamp(alpha, 0.0f, 1.0f) * 255));
  return (colour & ~IM_COL32_A_MASK) | (a << IM_COL32_A_SHIFT);
}

ImU32 Mix(ImU32 a, ImU32 b, float share_of_b) {
  const ImVec4 from = ImGui::ColorConvertU32ToFloat4(a), to = ImGui::ColorConvertU32ToFloat4(b);
  const auto mixed = [&](float x, float y) { return x + (y - x) * share_of_b; };
  return ImGui::ColorConvertFloat4ToU32(
      ImVec4(mixed(from.x, to.x), mixed(from.y, to.y), mixed(from.z, to.z), mixed(from.w, to.w)));
}

ImU32 TextOn(ImU32 background) {
  // Where black and white have equal contrast, (l + 0.05)^2 = 0.05 * 1.05.
  return Luminance(background) > 0.179f ? IM_COL32(0, 0, 0, 255) : IM_COL32(255, 255, 255, 255);
}

ImU32 CategoryColour(int number) {
  const int size = static_cast<int>(kCategories.size());
  return Rgb(kCategories[static_cast<size_t>(((number % size) + size) % size)]);
}

ImU32 DivergingColour(double value) {
  const float share = static_cast<float>(std::clamp(value, -1.0, 1.0));
  const ImU32 middle = Rgb(0xb4b8bd);
  return share < 0 ? Mix(middle, Rgb(0x0072b2), -share) : Mix(middle, Rgb(0xd55e00), share);
}

}  // namespace lanescope::gui
