// SPDX-License-Identifier: Apache-2.0
// The tab says what made the step as long as it is, and how much room everything else had.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "gui/app/format.h"
#include "gui/app/ui.h"
#include "gui/app/widgets.h"

namespace lanescope::gui {
namespace {

// The run that the tab is about: the clicked one, else the baseline.
int ShownIndex(const Ui& ui) {
  const int index = ui.timeline().IndexOf(ui.state.run);
  return index >= 0 ? index : ui.timeline().IndexOf(ui.timeline().baseline());
}

void DrawCriticalSummary(const Ui& ui, const RunData& run, const ShownPath& shown) {
  const StepPath::Totals totals = shown.path.totals();
  const double step = std::max<double>(static_cast<double>(shown.step_ns), 1);
  const auto share = [&](int64_t ns) { return "  (" + PercentText(static_cast<double>(ns) / step) + ")"; };
  const std::string what = run.steps.empty() ? "all of it" : "step " + std::to_string(shown.step);
  ImGui::TextUnformatted((what + " takes " + TimeText(shown.step_ns) + ":").c_str());
  ImGui::SameLine();
  ColouredText(ui.theme.good, "launches " + TimeText(totals.launch_ns) + share(totals.launch_ns));
  ImGui::SameLine(0, ui.Px(16));
  ColouredText(ui.theme.bad, "transfer " + TimeText(totals.transfer_ns) + share(totals.transfer_ns));
  ImGui::SameLine(0, ui.Px(16));
  DimText(ui.theme, "waiting " + TimeText(totals.waiting_ns) + share(totals.waiting_ns));
}

void DrawWork(const Ui& ui, const ShownRun& run, const ShownPath& shown, size_t item) {
  const WorkItem& work = shown.path.items[item];
  const Lane& lane = run.data->lanes[static_cast<size_t>(work.lane)];
  const int32_t op = lane.op[work.slice];
  const std::string name = op >= 0 ? run.data->ops[static_cast<size_t>(op)].name : "";
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  const SliceRef slice{run.key, work.lane, work.slice};
  // In a graph the tensor's node has the name; other tools' copies are called copies.
  const bool of_node = op >= 0 && run.data->ops[static_cast<size_t>(op)].node >= 0;
  const std::string text = (lane.is_copy() && of_node ? "copy of " : "") + name;
  if (NameItem(text, slice == ui.state.selection.slice)) GoTo(slice, ui.actions());
  ImGui::TableNextColumn();
  CutText(LaneName(*run.data, lane));
  ImGui::TableNextColumn();
  RightText(TimeText(work.start_ns - shown.begin_ns));
  ImGui::TableNextColumn();
  RightText(TimeText(work.end_ns - work.start_ns));
  ImGui::TableNextColumn();
  if (!shown.critical[item] && !shown.slack_ns.empty()) RightText(TimeText(shown.slack_ns[item]));
}

void DrawWorkTable(const Ui& ui, const ShownRun& run, const ShownPath& shown, bool all) {
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerV |
                                     ImGuiTableFlags_Resizable | ImGuiTableFlags_ScrollY |
                                     ImGuiTableFlags_SizingFixedFit;
  TakeAllRoom(ui);
  if (!ImGui::BeginTable("path", 5, kFlags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("op", ImGuiTableColumnFlags_WidthStretch, 3);
  ImGui::TableSetupColumn("lane", ImGuiTableColumnFlags_WidthStretch, 1.5f);
  for (const char* name : {"start in the step", "duration", "slack"}) {
    ImGui::TableSetupColumn(name, ImGuiTableColumnFlags_None, ui.Px(120));
  }
  ImGui::TableHeadersRow();
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(all ? shown.path.items.size() : shown.on_path.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const size_t index =
          all ? static_cast<size_t>(i) : static_cast<size_t>(shown.on_path[static_cast<size_t>(i)]);
      ImGui::PushID(i);
      DrawWork(ui, run, shown, index);
      ImGui::PopID();
    }
  }
  ImGui::EndTable();
}

}  // namespace

void DrawCriticalTab(const Ui& ui) {
  const int index = ShownIndex(ui);
  if (index < 0) return;
  const ShownRun& run = ui.timeline().runs()[static_cast<size_t>(index)];
  ImGui::AlignTextToFramePadding();
  ColouredText(KindColour(ui.theme, run.data->kind), run.title);
  ImGui::SameLine();
  ImGui::Checkbox("in the timeline", &ui.state.show_critical);
  ImGui::SameLine();
  static constexpr const char* kAllLabel = "everything, with slack";
  ImGuiStorage* storage = ImGui::GetStateStorage();
  bool* all = storage->GetBoolRef(ImGui::GetID(kAllLabel), false);
  ImGui::Checkbox(kAllLabel, all);
  if (static_cast<size_t>(index) >= ui.analysis.paths().size()) {
    DimText(ui.theme, "looking for the path…");
    return;
  }
  const ShownPath& shown = ui.analysis.paths()[static_cast<size_t>(index)];
  if (!shown.problem.empty()) {
    DimText(ui.theme, "No critical path: " + shown.problem);
    return;
  }
  DrawCriticalSummary(ui, *run.data, shown);
  DrawWorkTable(ui, run, shown, *all);
}

}  // namespace lanescope::gui
