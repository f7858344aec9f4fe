// SPDX-License-Identifier: Apache-2.0
// Right, above: the selected op, the selected slice and how it came about.
#include <imgui.h>

#include <array>

#include "core/base/units.h"
#include "gui/app/format.h"
#include "gui/app/ui.h"
#include "gui/app/widgets.h"
#include "gui/model/slice_facts.h"

namespace lanescope::gui {
namespace {

void Row(const Ui& ui, const char* name, const std::string& value) {
  if (value.empty()) return;
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  DimText(ui.theme, name);
  ImGui::TableNextColumn();
  CutText(value);
}

// Below the time as people read it the nanoseconds, to be copied.
void TimeRow(const Ui& ui, const char* name, int64_t ns) {
  Row(ui, name, TimeText(ns));
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::TableNextColumn();
  const std::string exact = std::to_string(ns);
  ImGui::PushID(name);
  if (NameItem(exact + " ns")) ImGui::SetClipboardText(exact.c_str());
  ImGui::PopID();
  Tooltip("a click copies the nanoseconds");
}

bool BeginRows(const Ui& ui, const char* id) {
  if (!ImGui::BeginTable(id, 2, ImGuiTableFlags_SizingFixedFit)) return false;
  ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthFixed, ui.Px(78));
  ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
  return true;
}

// A row that leads to another slice.
void LinkRow(const Ui& ui, const char* name, const std::string& text, const SliceRef& to) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  DimText(ui.theme, name);
  ImGui::TableNextColumn();
  ImGui::PushID(static_cast<int>(to.slice));
  if (NameItem(text)) GoTo(to, ui.actions());
  ImGui::PopID();
}

// The call, how long after it, and the ranges around it.
void ShowHowLaunched(const Ui& ui, const SliceRef& slice) {
  const LaunchDetails launch = LaunchDetailsOf(ui.timeline(), slice);
  Row(ui, "shapes", launch.signature);
  if (launch.launched > 0) Row(ui, "launched", CountText(launch.launched));
  if (launch.call.valid()) {
    LinkRow(ui, "call", launch.call_name + ", " + TimeText(launch.call_ns), launch.call);
    TimeRow(ui, "delay", launch.delay_ns);
  }
  for (size_t i = 0; i < launch.ranges.size(); ++i) {
    if (launch.ranges[i] == slice) continue;
    LinkRow(ui, i == 0 ? "inside" : "", launch.range_names[i], launch.ranges[i]);
  }
}

std::string SizeText(const std::array<int64_t, 3>& size) {
  return CountText(size[0]) + " x " + CountText(size[1]) + " x " + CountText(size[2]);
}

// Facts of the file that are not drawn; they come some frames after the selection.
void ShowFacts(const Ui& ui, const SliceRef& slice) {
  const SliceFacts* facts = ui.analysis.facts();
  if (facts == nullptr || facts->slice != slice) return;
  if (facts->grid[0] > 0) Row(ui, "grid", SizeText(facts->grid));
  if (facts->block[0] > 0) Row(ui, "block", SizeText(facts->block));
  if (facts->registers > 0) Row(ui, "registers", CountText(facts->registers) + " a thread");
  if (facts->static_shared + facts->dynamic_shared > 0) {
    Row(ui, "shared",
        FormatBytes(facts->static_shared + facts->dynamic_shared) +
            (facts->static_shared > 0 && facts->dynamic_shared > 0
                 ? ", " + FormatBytes(facts->static_shared) + " static"
                 : ""));
  }
  if (facts->local > 0) Row(ui, "local", FormatBytes(facts->local) + " a thread");
  if (facts->set_bytes > 0) Row(ui, "bytes", FormatBytes(facts->set_bytes));
  Row(ui, "operator", facts->operator_name);
  Row(ui, "shapes", facts->shapes);
  Row(ui, "types", facts->types);
  for (size_t i = 0; i < facts->stack.size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    Row(ui, i == 0 ? "called by" : "", facts->stack[i]);
    ImGui::PopID();
  }
}

void ShowSlice(const Ui& ui) {
  const SliceRef& slice = ui.state.selection.slice;
  const SliceDetails details = DetailsOf(ui.timeline(), slice);
  if (!BeginRows(ui, "slice")) return;
  Row(ui, "type", details.op);
  Row(ui, "run", details.run);
  Row(ui, "lane", details.lane);
  if (details.step >= 0) Row(ui, "step", std::to_string(details.step));
  TimeRow(ui, "start", details.start_ns);
  TimeRow(ui, "duration", details.duration_ns);
  if (details.count > 1) Row(ui, "mean", TimeText(details.mean_ns) + " of " + CountText(details.count));
  if (details.bytes > 0) Row(ui, "bytes", FormatBytes(details.bytes));
  if (details.bandwidth > 0) Row(ui, "rate", FormatBandwidth(details.bandwidth));
  ShowHowLaunched(ui, slice);
  ShowFacts(ui, slice);
  ImGui::EndTable();
}

void DrawOp(const Ui& ui) {
  const Selection& selection = ui.state.selection;
  if (selection.ops.size() > 1) {
    ImGui::TextUnformatted((CountText(static_cast<int64_t>(selection.ops.size())) + " ops selected").c_str());
  }
  if (selection.op < 0) {
    if (selection.ops.empty()) DimText(ui.theme, "No op is selected.");
    return;
  }
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(ui.timeline().NameOf(selection.op).c_str());
  ImGui::PopTextWrapPos();
  if (selection.slice.valid()) ShowSlice(ui);
}

// Every name scope around the op as a button that selects all of it.
void DrawScopes(const Ui& ui) {
  if (ui.state.selection.op < 0) return;
  const std::vector<std::string> scopes = ScopesOf(ui.timeline().NameOf(ui.state.selection.op));
  if (scopes.empty()) return;
  DimText(ui.theme, "select all of");
  for (const std::string& scope : scopes) {
    const std::string text = Shorten(scope + "/", ImGui::GetContentRegionAvail().x - ui.Px(14));
    if (NameButton(scope, text)) ui.state.selection.SelectScope(ui.timeline(), scope);
  }
}

}  // namespace

void DrawOpPanel(const Ui& ui) {
  DimText(ui.theme, "Op");
  DrawOp(ui);
  DrawScopes(ui);
}

}  // namespace lanescope::gui
