// SPDX-License-Identifier: Apache-2.0
// The page that is shown while no trace is open.
#include <imgui.h>

#include <filesystem>

#include "gui/app/samples.h"
#include "gui/app/ui.h"
#include "gui/app/widgets.h"

namespace lanescope::gui {
namespace {

void DrawRecent(const Ui& ui, const std::vector<std::string>& recent) {
  DimText(ui.theme, "Recent");
  if (recent.empty()) {
    ImGui::TextUnformatted("none yet");
    return;
  }
  for (const std::string& path : recent) {
    ImGui::PushID(path.c_str());
    const std::filesystem::path file(path);
    if (NameItem(file.filename().string())) ui.document.Open(path);
    Tooltip(path);
    ImGui::SameLine(ui.Px(230));
    DimText(ui.theme, Shorten(file.parent_path().string(), ImGui::GetContentRegionAvail().x));
    ImGui::PopID();
  }
}

void DrawSamples(const Ui& ui) {
  DimText(ui.theme, "Sample comparison");
  const std::vector<std::string> samples = SampleTraces();
  for (const std::string& path : samples) {
    if (NameItem(std::filesystem::path(path).filename().string())) ui.document.Open(path);
  }
  if (!samples.empty()) return;
  ImGui::TextWrapped("Make one in a terminal; it takes some seconds:");
  std::string command = std::string(SampleCommand());
  ImGui::PushFont(ui.fonts.mono);
  ImGui::SetNextItemWidth(-1);
  ImGui::InputText("##command", command.data(), command.size() + 1, ImGuiInputTextFlags_ReadOnly);
  ImGui::PopFont();
  if (ImGui::Button("Copy the command")) ImGui::SetClipboardText(command.c_str());
}

}  // namespace

void DrawStartPage(const Ui& ui, const std::vector<std::string>& recent) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const ImVec2 size(std::min(room.x - ui.Px(24), ui.Px(640)), std::min(room.y - ui.Px(24), ui.Px(520)));
  ImGui::SetCursorPos(ImVec2(ImGui::GetCursorPosX() + (room.x - size.x) / 2,
                             ImGui::GetCursorPosY() + std::max(0.0f, (room.y - size.y) / 3)));
  ImGui::BeginChild("start", size, false);
  ImGui::PushFont(ui.fonts.title);
  ImGui::TextUnformatted("Lanescope");
  ImGui::PopFont();
  ImGui::TextWrapped("Where should each operator of a graph run, and what would any other placement cost?");
  ImGui::Dummy(ImVec2(1, ui.Px(10)));
  if (ImGui::Button("Open a trace…")) ui.state.show_open = true;
  ImGui::SameLine();
  DimText(ui.theme, "or drop files into this window");
  DimText(ui.theme,
          "Traces of lanescope (.db), SQLite exports of Nsight Systems, profiles of PyTorch (.json, .gz) and "
          "others.");
  ImGui::Dummy(ImVec2(1, ui.Px(10)));
  DrawRecent(ui, recent);
  ImGui::Dummy(ImVec2(1, ui.Px(10)));
  DrawSamples(ui);
  ImGui::Dummy(ImVec2(1, ui.Px(10)));
  DimText(ui.theme, "? shows all keys");
  ImGui::EndChild();
}

}  // namespace lanescope::gui
