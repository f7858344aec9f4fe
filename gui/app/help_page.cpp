// SPDX-License-Identifier: Apache-2.0
// The page of keys.
#include <imgui.h>

#include "gui/app/commands.h"
#include "gui/app/ui.h"
#include "gui/app/widgets.h"

namespace lanescope::gui {
namespace {

void DrawRows(const Ui& ui, const char* id, std::span<const CommandHelp> rows) {
  if (!ImGui::BeginTable(id, 2, ImGuiTableFlags_SizingFixedFit)) return;
  ImGui::TableSetupColumn("keys", ImGuiTableColumnFlags_WidthFixed, ui.Px(165));
  ImGui::TableSetupColumn("text", ImGuiTableColumnFlags_WidthStretch);
  for (const CommandHelp& row : rows) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ColouredText(ui.theme.good, row.keys);
    ImGui::TableNextColumn();
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted(row.text.data(), row.text.data() + row.text.size());
    ImGui::PopTextWrapPos();
  }
  ImGui::EndTable();
}

}  // namespace

void DrawHelpPage(const Ui& ui) {
  if (!ui.state.show_help) return;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const ImVec2 size(std::min(display.x - ui.Px(20), ui.Px(620)), std::min(display.y - ui.Px(20), ui.Px(640)));
  ImGui::SetNextWindowPos(ImVec2((display.x - size.x) / 2, (display.y - size.y) / 2));
  ImGui::SetNextWindowSize(size);
  ImGui::SetNextWindowFocus();
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ImGui::GetColorU32(ImGuiCol_PopupBg));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0f);
  if (ImGui::Begin("Keys and mouse", &ui.state.show_help,
                   ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoCollapse |
                       ImGuiWindowFlags_NoSavedSettings)) {
    DrawRows(ui, "keys", KeyHelp());
    ImGui::Separator();
    DrawRows(ui, "mouse", MouseHelp());
  }
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
}

}  // namespace lanescope::gui
