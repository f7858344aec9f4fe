// SPDX-License-Identifier: Apache-2.0
// The Selection tab while nothing is selected: the runs beside each other, and a verdict.
#include <imgui.h>

#include "core/base/units.h"
#include "gui/app/ui.h"
#include "gui/app/widgets.h"
#include "gui/model/what_if_effect.h"

namespace lanescope::gui {
namespace {

std::string ChangeText(const Ui& ui, const ShownRun& run) {
  if (run.key == ui.timeline().baseline()) return "baseline";
  if (const auto effect = EffectOf(*run.data)) return SignedPercentText(effect->change) + " by the change";
  const auto change = ui.timeline().ChangeAgainstBaseline(run.key);
  if (!change) return "";
  return SignedPercentText(*change) + (ui.timeline().CannotTell(run.key) ? ", cannot tell" : "");
}

void DrawRuns(const Ui& ui) {
  if (!ImGui::BeginTable(
          "runs", 4,
          ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_SizingFixedFit)) {
    return;
  }
  ImGui::TableSetupColumn("run", ImGuiTableColumnFlags_WidthStretch);
  for (const char* name : {"step", "from … to", "change"}) ImGui::TableSetupColumn(name);
  ImGui::TableHeadersRow();
  for (const ShownRun& run : ui.timeline().runs()) {
    const RunData& data = *run.data;
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ColouredText(KindColour(ui.theme, data.kind), run.title);
    ImGui::TableNextColumn();
    RightText(data.empty() ? "nothing recorded" : TimeText(data.step_ns));
    ImGui::TableNextColumn();
    if (data.step_low_ns > 0) RightText(TimeText(data.step_low_ns) + " … " + TimeText(data.step_high_ns));
    ImGui::TableNextColumn();
    RightText(ChangeText(ui, run));
  }
  ImGui::EndTable();
}

}  // namespace

void DrawOverview(const Ui& ui) {
  DrawRuns(ui);
  ImGui::PushTextWrapPos(0);
  const ShownDiff* diff = ui.analysis.diff();
  if (ui.timeline().runs().size() > 1 && diff != nullptr) {
    ImGui::TextUnformatted(diff->problem.empty() ? diff->verdict.c_str() : diff->problem.c_str());
  }
  DimText(ui.theme, "Click a slice to see its op in every run; drag to add up a range of time and lanes.");
  ImGui::PopTextWrapPos();
}

}  // namespace lanescope::gui
