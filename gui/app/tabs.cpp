// SPDX-License-Identifier: Apache-2.0
// Bottom: the tabs, and the two that show sums.
#include <imgui.h>

#include <algorithm>
#include <array>

#include "core/base/units.h"
#include "gui/app/format.h"
#include "gui/app/sql_console.h"
#include "gui/app/ui.h"
#include "gui/app/widgets.h"

namespace lanescope::gui {
namespace {

constexpr std::array<std::pair<GroupBy, const char*>, 4> kGroups = {
    {{GroupBy::kName, "name"}, {GroupBy::kOp, "op"}, {GroupBy::kKind, "kind"}, {GroupBy::kDevice, "device"}}};

constexpr std::array<const char*, kNumTabs> kTabNames = {"Selection",     "Statistics", "Diff",
                                                         "Critical path", "Search",     "SQL"};

void DrawGroupChoice(const Ui& ui) {
  ImGui::AlignTextToFramePadding();
  DimText(ui.theme, "sums by");
  for (const auto& [group, name] : kGroups) {
    ImGui::SameLine();
    if (ImGui::RadioButton(name, ui.state.group == group)) ui.state.group = group;
  }
}

// A column of times that sorts as a number.
enum SumColumn { kGroup, kRun, kCount, kTotal, kShare, kMean, kMin, kMax, kBytes };

bool Less(const SumRow& a, const SumRow& b, int column) {
  switch (column) {
    case kGroup:
      return a.group < b.group;
    case kRun:
      return a.run < b.run;
    case kCount:
      return a.count < b.count;
    case kShare:
      return a.share < b.share;
    case kMean:
      return a.mean_ns() < b.mean_ns();
    case kMin:
      return a.min_ns < b.min_ns;
    case kMax:
      return a.max_ns < b.max_ns;
    case kBytes:
      return a.bytes < b.bytes;
    default:
      return a.total_ns < b.total_ns;
  }
}

// Rows in the order that the table's header asks for.
std::vector<const SumRow*> SortedRows(const SumTable& sums) {
  std::vector<const SumRow*> rows;
  for (const SumRow& row : sums.rows) rows.push_back(&row);
  const ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
  if (specs == nullptr || specs->SpecsCount == 0) return rows;
  const int column = specs->Specs[0].ColumnIndex;
  const bool down = specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
  std::stable_sort(rows.begin(), rows.end(), [&](const SumRow* a, const SumRow* b) {
    return down ? Less(*b, *a, column) : Less(*a, *b, column);
  });
  return rows;
}

void DrawSumRow(const Ui& ui, const SumRow& row, bool by_name) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  if (by_name) {
    const OpIdentity op = ui.timeline().FindIdentity(row.group);
    if (NameItem(row.group, op >= 0 && op == ui.state.selection.op) && op >= 0) {
      const auto area = ui.state.selection.area;
      GoToOp(op, ui.actions());
      ui.state.selection.area = area;
    }
  } else {
    CutText(row.group);
  }
  ImGui::TableNextColumn();
  const ShownRun* run = ui.timeline().Find(row.run);
  CutText(run == nullptr ? "" : run->title);
  ImGui::TableNextColumn();
  RightText(CountText(row.count));
  ImGui::TableNextColumn();
  RightText(TimeText(row.total_ns));
  ImGui::TableNextColumn();
  ShareBar(ui.theme, row.share, ui.theme.accent);
  for (const double ns : {row.mean_ns(), static_cast<double>(row.min_ns), static_cast<double>(row.max_ns)}) {
    ImGui::TableNextColumn();
    RightText(TimeText(static_cast<int64_t>(ns)));
  }
  ImGui::TableNextColumn();
  if (row.bytes > 0) RightText(FormatBytes(row.bytes));
}

void DrawTotals(const Ui& ui, const SumTable& sums) {
  for (const SumTable::RunTotal& total : sums.totals) {
    const ShownRun* run = ui.timeline().Find(total.run);
    if (run == nullptr) continue;
    ColouredText(KindColour(ui.theme, run->data->kind), run->title);
    ImGui::SameLine();
    ImGui::TextUnformatted((CountText(total.count) + (total.count == 1 ? " slice, " : " slices, ") +
                            TimeText(total.total_ns) + " in " + TimeText(total.span_ns))
                               .c_str());
  }
}

void DrawOneOp(const Ui& ui) {
  const OpIdentity op = ui.state.selection.op;
  ImGui::TextUnformatted(ui.timeline().NameOf(op).c_str());
  ImGui::SameLine();
  DimText(ui.theme, "in every run:");
  if (!ImGui::BeginTable(
          "op in runs", 6,
          ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_SizingFixedFit)) {
    return;
  }
  ImGui::TableSetupColumn("run", ImGuiTableColumnFlags_WidthStretch);
  // A name that can be clicked has no width of its own.
  ImGui::TableSetupColumn("lane", ImGuiTableColumnFlags_WidthFixed, ui.Px(210));
  for (const char* name : {"start in the run", "duration", "mean", "count"}) ImGui::TableSetupColumn(name);
  ImGui::TableHeadersRow();
  for (const ShownRun& run : ui.timeline().runs()) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ColouredText(KindColour(ui.theme, run.data->kind), run.title);
    SliceRef slice = ui.state.selection.slice;
    if (slice.run != run.key) slice = NearestToView(run.key, op, ui.actions());
    ImGui::TableNextColumn();
    if (!slice.valid()) {
      DimText(ui.theme, "not there");
      continue;
    }
    const SliceDetails details = DetailsOf(ui.timeline(), slice);
    ImGui::PushID(static_cast<int>(run.key));
    if (NameItem(details.lane, false, ImGuiSelectableFlags_SpanAllColumns)) {
      GoTo(slice, ui.actions());
    }
    ImGui::PopID();
    ImGui::TableNextColumn();
    RightText(TimeText(details.start_ns));
    ImGui::TableNextColumn();
    RightText(TimeText(details.duration_ns));
    ImGui::TableNextColumn();
    RightText(TimeText(details.mean_ns));
    ImGui::TableNextColumn();
    RightText(CountText(details.count));
  }
  ImGui::EndTable();
}

void DrawTab(const Ui& ui, Tab tab) {
  switch (tab) {
    case Tab::kSelection:
      return DrawSelectionTab(ui);
    case Tab::kStatistics:
      return DrawStatisticsTab(ui);
    case Tab::kDiff:
      return DrawDiffTab(ui);
    case Tab::kCritical:
      return DrawCriticalTab(ui);
    case Tab::kSearch:
      return DrawSearchTab(ui);
    case Tab::kSql:
      return ui.sql.Draw(ui);
  }
}

}  // namespace

void DrawSumTable(const Ui& ui, const char* id, const SumTable& sums) {
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerV |
                                     ImGuiTableFlags_Resizable | ImGuiTableFlags_ScrollY |
                                     ImGuiTableFlags_Sortable | ImGuiTableFlags_SizingFixedFit;
  TakeAllRoom(ui);
  if (!ImGui::BeginTable(id, 9, kFlags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthStretch, 3);
  ImGui::TableSetupColumn("run", ImGuiTableColumnFlags_WidthStretch, 2);
  ImGui::TableSetupColumn("count", ImGuiTableColumnFlags_PreferSortDescending, ui.Px(62));
  ImGui::TableSetupColumn(
      "total", ImGuiTableColumnFlags_PreferSortDescending | ImGuiTableColumnFlags_DefaultSort, ui.Px(82));
  ImGui::TableSetupColumn("share", ImGuiTableColumnFlags_PreferSortDescending, ui.Px(82));
  for (const char* name : {"mean", "min", "max", "bytes"}) {
    ImGui::TableSetupColumn(name, ImGuiTableColumnFlags_PreferSortDescending, ui.Px(82));
  }
  ImGui::TableHeadersRow();
  const std::vector<const SumRow*> rows = SortedRows(sums);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      ImGui::PushID(i);
      DrawSumRow(ui, *rows[static_cast<size_t>(i)], sums.group == GroupBy::kName);
      ImGui::PopID();
    }
  }
  ImGui::EndTable();
}

void DrawSelectionTab(const Ui& ui) {
  const Selection& selection = ui.state.selection;
  if (selection.area) {
    DrawGroupChoice(ui);
    if (const SumTable* sums = ui.analysis.selection_sums()) {
      DrawTotals(ui, *sums);
      DrawSumTable(ui, "area sums", *sums);
    } else {
      DimText(ui.theme, "adding up…");
    }
  } else if (selection.op >= 0) {
    DrawOneOp(ui);
  } else {
    DrawOverview(ui);
  }
}

void DrawStatisticsTab(const Ui& ui) {
  DrawGroupChoice(ui);
  ImGui::SameLine();
  DimText(ui.theme, "  of the visible range");
  if (const SumTable* sums = ui.analysis.visible_sums()) {
    DrawSumTable(ui, "visible sums", *sums);
  } else {
    DimText(ui.theme, "adding up…");
  }
}

void DrawTabs(const Ui& ui) {
  // The tabs lie at the lower edge: they stay under the pointer when the panel takes another height.
  const float tabs = ImGui::GetFrameHeightWithSpacing();
  const float room = std::max(ImGui::GetContentRegionAvail().y - tabs, 1.0f);
  ImGui::BeginChild("content", ImVec2(0, room), false);
  ui.state.bottom_content = 0;
  DrawTab(ui, ui.state.tab);
  if (ui.state.bottom_content >= 0) {
    const ImGuiStyle& style = ImGui::GetStyle();
    ui.state.bottom_content = ImGui::GetCursorPosY() + tabs + 2 * style.WindowPadding.y;
  }
  ImGui::EndChild();
  if (!ImGui::BeginTabBar("tabs")) return;
  const bool requested = ui.state.tab_requested;
  for (int i = 0; i < kNumTabs; ++i) {
    const Tab tab = static_cast<Tab>(i);
    const bool select = requested && ui.state.tab == tab;
    if (!ImGui::BeginTabItem(kTabNames[static_cast<size_t>(i)], nullptr,
                             select ? ImGuiTabItemFlags_SetSelected : ImGuiTabItemFlags_None)) {
      continue;
    }
    // In the frame of a request the bar still shows the tab before.
    if (!requested) ui.state.tab = tab;
    ImGui::EndTabItem();
  }
  if (requested) ui.state.tab_requested = false;
  ImGui::EndTabBar();
}

}  // namespace lanescope::gui
