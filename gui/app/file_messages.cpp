// SPDX-License-Identifier: Apache-2.0
// Progress of loads, and what went wrong with files.
#include <imgui.h>

#include <filesystem>

#include "gui/app/ui.h"
#include "gui/app/widgets.h"

namespace lanescope::gui {
namespace {

void DrawLoading(const Ui& ui, const OpenFile& file) {
  const std::string name = std::filesystem::path(file.path).filename().string();
  const std::string text = name + ": " + (file.state.doing.empty() ? "opening" : file.state.doing);
  ImGui::ProgressBar(static_cast<float>(file.state.progress), ImVec2(ui.Px(200), 0));
  ImGui::SameLine();
  if (ImGui::SmallButton("Cancel")) ui.document.CancelLoad(file.path);
  ImGui::SameLine();
  CutText(text);
}

void DrawProblem(const Ui& ui, const OpenFile& file) {
  const bool failed = file.state.phase == LoadState::Phase::kFailed;
  if (failed && ImGui::SmallButton("Close")) ui.document.CloseFile(file.path);
  if (!failed && ImGui::SmallButton("OK")) ui.state.dismissed.insert(file.path);
  ImGui::SameLine();
  ColouredText(failed ? ui.theme.limit : ui.theme.bad, failed ? "Cannot open" : "Note");
  ImGui::SameLine();
  const std::string name = std::filesystem::path(file.path).filename().string();
  const bool named = file.state.message.find(name) != std::string::npos;
  CutText(named ? file.state.message : name + ": " + file.state.message);
}

}  // namespace

void DrawFileMessages(const Ui& ui) {
  const std::vector<OpenFile> files = ui.document.files();
  for (const OpenFile& file : files) {
    ImGui::PushID(file.path.c_str());
    if (file.state.phase == LoadState::Phase::kLoading) {
      DrawLoading(ui, file);
    } else if (!file.state.message.empty() && ui.state.dismissed.count(file.path) == 0) {
      DrawProblem(ui, file);
    }
    ImGui::PopID();
  }
}

}  // namespace lanescope::gui
