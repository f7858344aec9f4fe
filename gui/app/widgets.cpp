// SPDX-License-Identifier: Apache-2.0
#include "gui/app/widgets.h"

#include <algorithm>
#include <cmath>

#include "gui/app/format.h"

namespace lanescope::gui {
namespace {

constexpr std::string_view kEllipsis = "…";

void Text(std::string_view text) { ImGui::TextUnformatted(text.data(), text.data() + text.size()); }

// Bytes of `text` up to and including its n-th character are no prefix of a multi-byte one.
bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

void Splitter(const char* id, bool vertical, float length, float* size, float least, float most, bool after) {
  const float thickness = std::round(ImGui::GetFontSize() * 0.35f);
  const ImVec2 position = ImGui::GetCursorScreenPos();
  const ImVec2 extent = vertical ? ImVec2(thickness, length) : ImVec2(length, thickness);
  ImGui::InvisibleButton(id, extent);
  const bool hot = ImGui::IsItemHovered() || ImGui::IsItemActive();
  if (hot) ImGui::SetMouseCursor(vertical ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
  if (ImGui::IsItemActive()) {
    const ImVec2 moved = ImGui::GetIO().MouseDelta;
    const float change = (vertical ? moved.x : moved.y) * (after ? -1.0f : 1.0f);
    *size = std::clamp(*size + change, least, std::max(least, most));
  }
  const ImU32 colour = ImGui::GetColorU32(hot ? ImGuiCol_ButtonActive : ImGuiCol_Border);
  const float middle = std::floor(thickness / 2);
  const ImVec2 from =
      vertical ? ImVec2(position.x + middle, position.y) : ImVec2(position.x, position.y + middle);
  const ImVec2 to =
      vertical ? ImVec2(from.x + 1, position.y + length) : ImVec2(position.x + length, from.y + 1);
  ImGui::GetWindowDrawList()->AddRectFilled(from, to, colour);
}

float TextWidth(std::string_view text, ImFont* font) {
  if (font == nullptr) font = ImGui::GetFont();
  return font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, text.data(), text.data() + text.size()).x;
}

float ChipWidth(std::string_view text) { return TextWidth(text) + ImGui::GetFontSize() * 0.8f; }

float DrawChip(ImDrawList* list, ImVec2 position, std::string_view text, ImU32 colour, bool filled) {
  const float width = ChipWidth(text), height = ImGui::GetFontSize() * 1.15f;
  const ImVec2 end(position.x + width, position.y + height);
  const float rounding = ImGui::GetFontSize() * 0.25f;
  if (filled) {
    list->AddRectFilled(position, end, colour, rounding);
  } else {
    list->AddRect(position, end, colour, rounding);
  }
  list->AddText(ImVec2(std::round(position.x + ImGui::GetFontSize() * 0.4f),
                       std::round(position.y + ImGui::GetFontSize() * 0.06f)),
                filled ? TextOn(colour) : colour, text.data(), text.data() + text.size());
  return width;
}

void Chip(std::string_view text, ImU32 colour, bool filled) {
  const ImVec2 position = ImGui::GetCursorScreenPos();
  DrawChip(ImGui::GetWindowDrawList(), position, text, colour, filled);
  ImGui::Dummy(ImVec2(ChipWidth(text), ImGui::GetFontSize() * 1.15f));
}

std::string Shorten(std::string_view text, float width, ImFont* font) {
  if (TextWidth(text, font) <= width) return std::string(text);
  const float room = width - TextWidth(kEllipsis, font);
  size_t low = 0, high = text.size();
  while (low < high) {  // the longest prefix that fits
    const size_t middle = (low + high + 1) / 2;
    if (TextWidth(text.substr(0, middle), font) <= room) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  while (low > 0 && low < text.size() && !StartsCharacter(text[low])) --low;
  return low == 0 ? "" : std::string(text.substr(0, low)) + std::string(kEllipsis);
}

void CutText(std::string_view text) {
  const std::string cut = Shorten(text, ImGui::GetContentRegionAvail().x);
  Text(cut);
  if (cut.size() != text.size() || cut != text) Tooltip(text);
}

namespace {

// The text is drawn over an item whose label it is not.
bool NamedItem(std::string_view name, std::string_view shown, bool selected, ImGuiSelectableFlags flags,
               float width) {
  const ImVec2 position = ImGui::GetCursorScreenPos();
  ImGui::PushID(name.data(), name.data() + name.size());
  const bool chosen = ImGui::Selectable("##name", selected, flags, ImVec2(width, 0));
  ImGui::PopID();
  if (shown != name) Tooltip(name);
  ImGui::GetWindowDrawList()->AddText(position, ImGui::GetColorU32(ImGuiCol_Text), shown.data(),
                                      shown.data() + shown.size());
  return chosen;
}

}  // namespace

bool NameItem(std::string_view name, bool selected, ImGuiSelectableFlags flags) {
  return NamedItem(name, Shorten(name, ImGui::GetContentRegionAvail().x), selected, flags, 0);
}

bool NameMenuItem(std::string_view name) {
  return NamedItem(name, name, false, ImGuiSelectableFlags_None, TextWidth(name));
}

bool NameButton(std::string_view name, std::string_view shown) {
  const ImGuiStyle& style = ImGui::GetStyle();
  const ImVec2 position = ImGui::GetCursorScreenPos();
  ImGui::PushID(name.data(), name.data() + name.size());
  const bool pressed = ImGui::Button(
      "##name", ImVec2(TextWidth(shown) + 2 * style.FramePadding.x, ImGui::GetTextLineHeight()));
  ImGui::PopID();
  if (shown != name) Tooltip(name);
  ImGui::GetWindowDrawList()->AddText(ImVec2(position.x + style.FramePadding.x, position.y),
                                      ImGui::GetColorU32(ImGuiCol_Text), shown.data(),
                                      shown.data() + shown.size());
  return pressed;
}

bool BeginNameCombo(const char* id, std::string_view current) {
  const ImGuiStyle& style = ImGui::GetStyle();
  const ImVec2 position = ImGui::GetCursorScreenPos();
  const float room = ImGui::CalcItemWidth() - ImGui::GetFrameHeight() - 2 * style.FramePadding.x;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const bool open = ImGui::BeginCombo(id, "");
  const std::string shown = Shorten(current, room);
  list->AddText(ImVec2(position.x + style.FramePadding.x, position.y + style.FramePadding.y),
                ImGui::GetColorU32(ImGuiCol_Text), shown.data(), shown.data() + shown.size());
  return open;
}

void NameHeadersRow(const std::vector<std::string>& names) {
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  for (size_t i = 0; i < names.size() && ImGui::TableSetColumnIndex(static_cast<int>(i)); ++i) {
    const ImVec2 position = ImGui::GetCursorScreenPos();
    const std::string shown = Shorten(names[i], ImGui::GetContentRegionAvail().x);
    ImGui::PushID(static_cast<int>(i));
    ImGui::TableHeader("##name");
    ImGui::PopID();
    if (shown != names[i]) Tooltip(names[i]);
    ImGui::GetWindowDrawList()->AddText(position, ImGui::GetColorU32(ImGuiCol_Text), shown.data(),
                                        shown.data() + shown.size());
  }
}

void RightText(std::string_view text) {
  const float room = ImGui::GetContentRegionAvail().x - TextWidth(text);
  if (room > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + std::floor(room));
  Text(text);
}

void ColouredText(ImU32 colour, std::string_view text) {
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  Text(text);
  ImGui::PopStyleColor();
}

void DimText(const Theme& theme, std::string_view text) { ColouredText(theme.text_dim, text); }

void ShareBar(const Theme& theme, double share, ImU32 colour) {
  const ImVec2 position = ImGui::GetCursorScreenPos();
  const float width = std::max(ImGui::GetContentRegionAvail().x, 1.0f), height = ImGui::GetTextLineHeight();
  const float filled = width * static_cast<float>(std::clamp(share, 0.0, 1.0));
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(position, ImVec2(position.x + std::round(filled), position.y + height),
                      WithAlpha(colour, 0.35f));
  ImGui::PushStyleColor(ImGuiCol_Text, theme.text);
  RightText(PercentText(share));
  ImGui::PopStyleColor();
}

void Tooltip(std::string_view text) {
  if (!ImGui::IsItemHovered()) return;
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 40);
  Text(text);
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

}  // namespace lanescope::gui
