// SPDX-License-Identifier: Apache-2.0
// Small pieces that several panels use.
#pragma once

#include <imgui.h>

#include <string>
#include <string_view>
#include <vector>

#include "gui/app/theme.h"

namespace lanescope::gui {

// A bar between two panels that the mouse moves. `size`: of the panel before (or, with `after`, behind) the
// bar, pixels; changed within [least, most]. Draws at the cursor.
void Splitter(const char* id, bool vertical, float length, float* size, float least, float most, bool after);

// A word in a rounded frame. `filled`: on the colour; else in the colour, with an outline only.
void Chip(std::string_view text, ImU32 colour, bool filled);
float ChipWidth(std::string_view text);
// Draws that at a given place of a draw list; returns its width.
float DrawChip(ImDrawList* list, ImVec2 position, std::string_view text, ImU32 colour, bool filled);

// Shows `text` in the current column, cut with "…" where it does not fit; then the whole text is a tooltip.
void CutText(std::string_view text);
// A name from a file that can be chosen, cut as CutText does: what "##" and "###" mean in labels of ImGui
// does not count in it. True: it was clicked.
bool NameItem(std::string_view name, bool selected = false,
              ImGuiSelectableFlags flags = ImGuiSelectableFlags_None);
// Does that in a menu.
bool NameMenuItem(std::string_view name);
// A small button with a name from a file on it, shown as `shown`.
bool NameButton(std::string_view name, std::string_view shown);
// A list to choose from, with a name from a file in it; as ImGui::BeginCombo.
bool BeginNameCombo(const char* id, std::string_view current);
// The headers of a table whose columns are named by a file, as ImGui::TableHeadersRow.
void NameHeadersRow(const std::vector<std::string>& names);
// `text` shortened to `width` pixels with "…"; empty if not even one character fits.
std::string Shorten(std::string_view text, float width, ImFont* font = nullptr);
// Right-aligned in the current table column.
void RightText(std::string_view text);
void ColouredText(ImU32 colour, std::string_view text);
void DimText(const Theme& theme, std::string_view text);
// A share of 1 as a bar with its number, as wide as the column.
void ShareBar(const Theme& theme, double share, ImU32 colour);
void Tooltip(std::string_view text);
float TextWidth(std::string_view text, ImFont* font = nullptr);

}  // namespace lanescope::gui
