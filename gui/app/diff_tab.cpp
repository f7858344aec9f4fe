// SPDX-License-Identifier: Apache-2.0
// Two runs beside each other: where the difference of their step times comes from, and op by op.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "gui/app/format.h"
#include "gui/app/ui.h"
#include "gui/app/widgets.h"

namespace lanescope::gui {
namespace {

void DrawRunChoice(const Ui& ui, const char* id, RunKey current, RunKey* chosen) {
  const ShownRun* run = ui.timeline().Find(current);
  ImGui::SetNextItemWidth(std::min(ui.Px(300), ImGui::GetContentRegionAvail().x * 0.5f));
  if (!BeginNameCombo(id, run == nullptr ? "" : run->title)) return;
  for (const ShownRun& each : ui.timeline().runs()) {
    ImGui::PushID(static_cast<int>(each.key));
    const std::string text = each.title + "  (" + std::string(RunKindName(each.data->kind)) + ")";
    if (NameItem(text, each.key == current)) *chosen = each.key;
    ImGui::PopID();
  }
  ImGui::EndCombo();
}

struct Part {
  const char* name;
  double a, b;
  ImU32 colour;
};

std::array<Part, 4> PartsOf(const RunDiff& diff) {
  const StepParts &a = diff.parts_a, &b = diff.parts_b;
  return {{{"compute", a.compute_ns, b.compute_ns, CategoryColour(4)},
           {"transfer", a.transfer_ns, b.transfer_ns, CategoryColour(1)},
           {"waiting", a.waiting_ns, b.waiting_ns, IM_COL32(140, 145, 152, 255)},
           {"contention", a.contention_ns, b.contention_ns, CategoryColour(5)}}};
}

std::string TitleOf(const Ui& ui, RunKey key) {
  const ShownRun* run = ui.timeline().Find(key);
  return run == nullptr ? "" : run->title;
}

// One step as a bar of its parts, on a scale that both runs share.
void DrawPartsBar(const Ui& ui, const std::string& label, const std::array<Part, 4>& parts,
                  double Part::*side, double longest) {
  ImGui::TextUnformatted(Shorten(label, ui.Px(210)).c_str());
  ImGui::SameLine(ui.Px(220));
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float width = std::max(ui.Px(60), ImGui::GetContentRegionAvail().x - ui.Px(90));
  const float height = ImGui::GetTextLineHeight();
  ImDrawList* list = ImGui::GetWindowDrawList();
  float x = from.x;
  double total = 0;
  for (const Part& part : parts) {
    const double ns = std::max(part.*side, 0.0);
    total += part.*side;
    const float end = x + static_cast<float>(ns / longest) * width;
    list->AddRectFilled(ImVec2(std::round(x), from.y), ImVec2(std::round(end), from.y + height), part.colour);
    const std::string text = TimeText(std::llround(ns));
    if (TextWidth(text) + ui.Px(6) < end - x) {
      list->AddText(ImVec2(std::round(x + ui.Px(3)), from.y), TextOn(part.colour), text.c_str());
    }
    x = end;
  }
  list->AddText(ImVec2(std::round(x + ui.Px(6)), from.y), ui.theme.text,
                TimeText(std::llround(total)).c_str());
  ImGui::Dummy(ImVec2(width, height));
}

void DrawParts(const Ui& ui, const ShownDiff& shown) {
  const std::array<Part, 4> parts = PartsOf(shown.diff);
  const double longest = std::max({shown.diff.parts_a.step_ns, shown.diff.parts_b.step_ns, 1.0});
  DrawPartsBar(ui, TitleOf(ui, shown.a), parts, &Part::a, longest);
  DrawPartsBar(ui, TitleOf(ui, shown.b), parts, &Part::b, longest);
  for (const Part& part : parts) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::GetWindowDrawList()->AddRectFilled(
        ImVec2(at.x, at.y + ui.Px(3)), ImVec2(at.x + ui.Px(11), at.y + ui.Px(14)), part.colour, ui.Px(2));
    ImGui::Dummy(ImVec2(ui.Px(12), 1));
    ImGui::SameLine();
    ImGui::TextUnformatted(part.name);
    ImGui::SameLine();
    const double delta = part.b - part.a;
    ColouredText(delta > 0 ? ui.theme.bad : ui.theme.good, SignedTimeText(delta));
    ImGui::SameLine(0, ui.Px(18));
  }
  ImGui::NewLine();
}

enum DiffColumn { kName, kKind, kWhere, kFirst, kSecond, kOnPath, kDelta, kLength };

double OnPath(const OpDiff& row) { return row.b.path_ns + row.b.wait_ns; }

bool Less(const OpDiff& a, const OpDiff& b, int column) {
  switch (column) {
    case kName:
      return a.name < b.name;
    case kKind:
      return a.kind < b.kind;
    case kWhere:
      return a.b.devices < b.b.devices;
    case kFirst:
      return a.a.ns < b.a.ns;
    case kSecond:
      return a.b.ns < b.b.ns;
    case kOnPath:
      return OnPath(a) < OnPath(b);
    case kLength:
      return a.LengthChange().value_or(0) < b.LengthChange().value_or(0);
    default:
      return std::abs(a.PathChange()) < std::abs(b.PathChange());
  }
}

std::vector<const OpDiff*> SortedRows(const RunDiff& diff) {
  std::vector<const OpDiff*> rows;
  for (const OpDiff& row : diff.ops) rows.push_back(&row);
  const ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
  if (specs == nullptr || specs->SpecsCount == 0) return rows;
  const int column = specs->Specs[0].ColumnIndex;
  const bool down = specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
  std::stable_sort(rows.begin(), rows.end(), [&](const OpDiff* a, const OpDiff* b) {
    return down ? Less(*b, *a, column) : Less(*a, *b, column);
  });
  return rows;
}

void TimeCell(const Ui& ui, bool there, double ns) {
  ImGui::TableNextColumn();
  if (there) {
    RightText(TimeText(std::llround(ns)));
  } else {
    DimText(ui.theme, "-");
  }
}

// "Conv2D"; "copy".
std::string TypeOf(const Ui& ui, const ShownDiff& shown, const OpDiff& row) {
  for (const RunKey key : {shown.a, shown.b}) {
    const ShownRun* run = ui.timeline().Find(key);
    const int op = run == nullptr || row.kind == WorkKind::kCopy ? -1 : run->data->FindOp(row.op);
    if (op >= 0) return run->data->ops[static_cast<size_t>(op)].op;
  }
  return std::string(WorkKindName(row.kind));
}

void DrawDiffRow(const Ui& ui, const ShownDiff& shown, const OpDiff& row) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  const OpIdentity op = ui.timeline().FindIdentity(row.op);
  if (NameItem(row.name, op >= 0 && op == ui.state.selection.op) && op >= 0) GoToOp(op, ui.actions());
  ImGui::TableNextColumn();
  CutText(TypeOf(ui, shown, row));
  ImGui::TableNextColumn();
  const std::string arrow = ui.fonts.has_signs ? " → " : " -> ";
  CutText(row.a.devices == row.b.devices ? row.a.devices
                                         : (row.a.devices.empty() ? "-" : row.a.devices) + arrow +
                                               (row.b.devices.empty() ? "-" : row.b.devices));
  TimeCell(ui, row.a.count > 0, row.a.ns);
  TimeCell(ui, row.b.count > 0, row.b.ns);
  TimeCell(ui, row.b.count > 0, OnPath(row));
  ImGui::TableNextColumn();
  ImGui::PushStyleColor(ImGuiCol_Text, row.PathChange() > 0 ? ui.theme.bad : ui.theme.good);
  RightText(SignedTimeText(row.PathChange()));
  ImGui::PopStyleColor();
  ImGui::TableNextColumn();
  if (const auto change = row.LengthChange()) RightText(SignedPercentText(*change));
}

void DrawRows(const Ui& ui, const ShownDiff& shown) {
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerV |
                                     ImGuiTableFlags_Resizable | ImGuiTableFlags_ScrollY |
                                     ImGuiTableFlags_Sortable | ImGuiTableFlags_SizingFixedFit;
  TakeAllRoom(ui);
  // The part bars above leave little room in a low window; then the tab scrolls.
  const float height = std::max(ImGui::GetContentRegionAvail().y, ui.Px(120));
  if (!ImGui::BeginTable("ops", 8, kFlags, ImVec2(0, height))) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("op", ImGuiTableColumnFlags_WidthStretch, 3);
  ImGui::TableSetupColumn("type", ImGuiTableColumnFlags_WidthStretch, 1.3f);
  ImGui::TableSetupColumn("device", ImGuiTableColumnFlags_WidthStretch, 1.2f);
  const bool predicted = shown.measured_against_predicted;
  ImGui::TableSetupColumn(predicted ? "measured" : "first", ImGuiTableColumnFlags_PreferSortDescending,
                          ui.Px(82));
  ImGui::TableSetupColumn(predicted ? "predicted" : "second", ImGuiTableColumnFlags_PreferSortDescending,
                          ui.Px(82));
  ImGui::TableSetupColumn("on path", ImGuiTableColumnFlags_PreferSortDescending, ui.Px(82));
  ImGui::TableSetupColumn(ui.fonts.has_signs ? "Δ step" : "change",
                          ImGuiTableColumnFlags_PreferSortDescending | ImGuiTableColumnFlags_DefaultSort,
                          ui.Px(82));
  ImGui::TableSetupColumn(predicted ? "error" : "change", ImGuiTableColumnFlags_PreferSortDescending,
                          ui.Px(70));
  ImGui::TableHeadersRow();
  const std::vector<const OpDiff*> rows = SortedRows(shown.diff);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      ImGui::PushID(i);
      DrawDiffRow(ui, shown, *rows[static_cast<size_t>(i)]);
      ImGui::PopID();
    }
  }
  ImGui::EndTable();
}

}  // namespace

void DrawDiffTab(const Ui& ui) {
  const auto [a, b] = ui.analysis.diff_pair();
  if (b == 0) {
    DimText(ui.theme, "Two runs are needed to compare: open another trace, or change the placement.");
    return;
  }
  DrawRunChoice(ui, "##first", a, &ui.state.diff_a);
  ImGui::SameLine();
  ImGui::TextUnformatted(ui.fonts.has_signs ? "→" : "->");
  ImGui::SameLine();
  DrawRunChoice(ui, "##second", b, &ui.state.diff_b);
  ImGui::SameLine();
  if (const RunKey other = CounterpartOf(ui.timeline(), a); other != 0) {
    if (ImGui::Button("measured against predicted")) {
      const RunKind kind = ui.timeline().Find(a)->data->kind;
      const bool predicted = kind == RunKind::kSimulated || kind == RunKind::kWhatIf;
      ui.state.diff_a = predicted ? other : a;
      ui.state.diff_b = predicted ? a : other;
    }
  } else {
    ImGui::NewLine();
  }
  const ShownDiff* diff = ui.analysis.diff();
  if (diff == nullptr) {
    DimText(ui.theme, "comparing…");
    return;
  }
  if (!diff->problem.empty()) return DimText(ui.theme, "No comparison: " + diff->problem);
  ImGui::TextWrapped("%s", diff->verdict.c_str());
  DrawParts(ui, *diff);
  DrawRows(ui, *diff);
}

}  // namespace lanescope::gui
