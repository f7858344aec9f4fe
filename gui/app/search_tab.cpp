// SPDX-License-Identifier: Apache-2.0
// The placements that the search found, as a list.
#include <imgui.h>

#include "gui/app/format.h"
#include "gui/app/ui.h"
#include "gui/app/widgets.h"

namespace lanescope::gui {

void DrawSearchTab(const Ui& ui) {
  const SearchIndex::Results& results = ui.analysis.search();
  if (results.query.empty()) {
    DimText(ui.theme,
            "Type a part of a name or an op type into the field above ( / ); Enter goes to the first hit.");
    return;
  }
  ImGui::TextUnformatted((CountText(results.count) + " slices of " +
                          CountText(static_cast<int64_t>(results.identities.size())) + " ops match '" +
                          results.query + "'")
                             .c_str());
  ImGui::SameLine();
  if (ImGui::SmallButton("previous")) GoToNextHit(false, ui.actions());
  ImGui::SameLine();
  if (ImGui::SmallButton("next")) GoToNextHit(true, ui.actions());
  ImGui::SameLine();
  if (ImGui::SmallButton("select all ops")) {
    ui.state.selection.Clear();
    for (const OpIdentity op : results.identities) ui.state.selection.ToggleOp(op);
  }
  if (!results.hits.empty()) TakeAllRoom(ui);
  if (!ImGui::BeginTable("hits", 5,
                         ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_Resizable |
                             ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingFixedFit)) {
    return;
  }
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("op", ImGuiTableColumnFlags_WidthStretch, 3);
  ImGui::TableSetupColumn("run", ImGuiTableColumnFlags_WidthStretch, 2);
  ImGui::TableSetupColumn("lane", ImGuiTableColumnFlags_WidthStretch, 1.5f);
  ImGui::TableSetupColumn("start in the run", ImGuiTableColumnFlags_None, ui.Px(110));
  ImGui::TableSetupColumn("duration", ImGuiTableColumnFlags_None, ui.Px(90));
  ImGui::TableHeadersRow();
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(results.hits.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const SliceRef& hit = results.hits[static_cast<size_t>(i)];
      const SliceDetails details = DetailsOf(ui.timeline(), hit);
      ImGui::PushID(i);
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      if (NameItem(details.name, hit == ui.state.selection.slice, ImGuiSelectableFlags_SpanAllColumns)) {
        GoToHit(static_cast<size_t>(i), ui.actions());
      }
      ImGui::TableNextColumn();
      CutText(details.run);
      ImGui::TableNextColumn();
      CutText(details.lane);
      ImGui::TableNextColumn();
      RightText(TimeText(details.start_ns));
      ImGui::TableNextColumn();
      RightText(TimeText(details.duration_ns));
      ImGui::PopID();
    }
  }
  ImGui::EndTable();
  // The list may end before the hits do.
  if (results.truncated) DimText(ui.theme, "the first 10,000 are listed");
}

}  // namespace lanescope::gui
