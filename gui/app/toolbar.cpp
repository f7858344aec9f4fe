// SPDX-License-Identifier: Apache-2.0
// Top: menus, and the choices that change the whole timeline.
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>

#include "gui/app/ui.h"
#include "gui/app/widgets.h"

namespace lanescope::gui {
namespace {

void DrawFileMenu(const Ui& ui) {
  if (!ImGui::BeginMenu("File")) return;
  if (ImGui::MenuItem("Open…", "Ctrl+O")) ui.state.show_open = true;
  const std::vector<OpenFile> files = ui.document.files();
  if (ImGui::BeginMenu("Close", !files.empty())) {
    for (const OpenFile& file : files) {
      if (NameMenuItem(file.path)) ui.document.CloseFile(file.path);
    }
    ImGui::EndMenu();
  }
  if (ImGui::BeginMenu("Read again", !files.empty())) {
    for (const OpenFile& file : files) {
      if (NameMenuItem(file.path)) ui.document.Open(file.path);
    }
    ImGui::EndMenu();
  }
  ImGui::Separator();
  if (ImGui::MenuItem("Quit", "Ctrl+Q")) ui.state.quit = true;
  ImGui::EndMenu();
}

void DrawViewMenu(const Ui& ui) {
  if (!ImGui::BeginMenu("View")) return;
  if (ImGui::MenuItem("Show everything", "Home")) Do(Command::kFitAll, ui.actions());
  if (ImGui::MenuItem("Back", "Backspace", false, ui.state.view.CanUndo())) {
    Do(Command::kUndoView, ui.actions());
  }
  ImGui::Separator();
  ImGui::MenuItem("Transfer arrows", nullptr, &ui.state.show_arrows);
  ImGui::MenuItem("Critical path", nullptr, &ui.state.show_critical);
  ImGui::Separator();
  LaneVisibility& lanes = ui.state.lanes;
  ImGui::MenuItem("Copy lanes", nullptr, &lanes.show_copies);
  ImGui::MenuItem("Memory", nullptr, &lanes.show_memory);
  ImGui::MenuItem("Links", nullptr, &lanes.show_links);
  ImGui::MenuItem("Host", nullptr, &lanes.show_host);
  ImGui::MenuItem("Empty lanes", nullptr, &lanes.show_empty_lanes);
  const bool groups = std::any_of(ui.timeline().runs().begin(), ui.timeline().runs().end(),
                                  [](const ShownRun& run) { return !run.data->groups.empty(); });
  if (ImGui::MenuItem("Fold threads", nullptr, false, groups)) FoldGroups(true, true, ui.actions());
  if (ImGui::MenuItem("Fold all groups", nullptr, false, groups)) FoldGroups(true, false, ui.actions());
  if (ImGui::MenuItem("Unfold all", nullptr, false, !lanes.folded.empty()))
    FoldGroups(false, false, ui.actions());
  if (ImGui::MenuItem("Unpin all", nullptr, false, !lanes.pinned.empty())) lanes.pinned.clear();
  if (ImGui::MenuItem("Remove all marks", nullptr, false, !ui.state.marks.empty())) ui.state.marks.clear();
  ImGui::Separator();
  if (ImGui::MenuItem("Light theme", "T", ui.state.theme == ThemeName::kLight)) {
    Do(Command::kTheme, ui.actions());
  }
  ImGui::EndMenu();
}

void DrawPlacementMenu(const Ui& ui) {
  if (!ImGui::BeginMenu("What if")) return;
  const WhatIfView& what_if = ui.document.what_if();
  const ReplayView& replay = ui.document.replay();
  if (ImGui::MenuItem(("Undo " + what_if.undo_text).c_str(), "Ctrl+Z", false,
                      what_if.can_undo || replay.can_undo)) {
    ui.document.Undo();
  }
  if (ImGui::MenuItem(("Redo " + what_if.redo_text).c_str(), "Ctrl+Y", false,
                      what_if.can_redo || replay.can_redo)) {
    ui.document.Redo();
  }
  ImGui::Separator();
  if (ImGui::MenuItem("Save…", "Ctrl+S", false, what_if.base != 0)) ui.state.show_save = true;
  ImGui::EndMenu();
}

template <typename Value, size_t kSize>
void DrawChoice(const char* id, const char* label,
                const std::array<std::pair<Value, const char*>, kSize>& choices, float width, Value* value) {
  const char* current = "";
  for (const auto& [choice, text] : choices) {
    if (choice == *value) current = text;
  }
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(label);
  ImGui::SameLine();
  ImGui::SetNextItemWidth(width);
  if (ImGui::BeginCombo(id, current)) {
    for (const auto& [choice, text] : choices) {
      if (ImGui::Selectable(text, choice == *value)) *value = choice;
    }
    ImGui::EndCombo();
  }
  ImGui::SameLine();
}

constexpr std::array<std::pair<ColorMode, const char*>, 5> kColours = {
    {{ColorMode::kOp, "op"},
     {ColorMode::kDevice, "device"},
     {ColorMode::kKind, "kind"},
     {ColorMode::kRange, "range"},
     {ColorMode::kError, "prediction error"}}};
constexpr std::array<std::pair<Alignment, const char*>, 3> kAlignments = {
    {{Alignment::kStart, "start"}, {Alignment::kOp, "selected op"}, {Alignment::kNormalised, "normalised"}}};

enum class LaneChoice { kAll, kCopies, kCompute, kOther };
constexpr std::array<std::pair<LaneChoice, const char*>, 3> kLaneChoices = {
    {{LaneChoice::kAll, "all"},
     {LaneChoice::kCopies, "computing, copies"},
     {LaneChoice::kCompute, "computing"}}};

// Common choices of what the View menu offers one by one.
void DrawLaneChoice(const Ui& ui) {
  LaneVisibility& lanes = ui.state.lanes;
  LaneChoice choice = LaneChoice::kOther;
  if (lanes.show_copies == lanes.show_memory && lanes.show_memory == lanes.show_links) {
    choice = lanes.show_copies ? LaneChoice::kAll : LaneChoice::kCompute;
  } else if (lanes.show_copies && !lanes.show_memory && !lanes.show_links) {
    choice = LaneChoice::kCopies;
  }
  const LaneChoice before = choice;
  DrawChoice("##lanes", "Lanes", kLaneChoices, ui.Px(165), &choice);
  if (choice == before) return;
  lanes.show_copies = choice != LaneChoice::kCompute;
  lanes.show_memory = lanes.show_links = choice == LaneChoice::kAll;
}

// A field that gets the keyboard from the program selects its text, and the next character would replace what
// was typed before it was ready.
int KeepTypedText(ImGuiInputTextCallbackData* data) {
  bool* keep = static_cast<bool*>(data->UserData);
  if (*keep) {
    data->ClearSelection();
    data->CursorPos = data->BufTextLen;
  }
  return 0;
}

void DrawSearchField(const Ui& ui) {
  ImGui::SetNextItemWidth(std::clamp(ImGui::GetContentRegionAvail().x, ui.Px(60), ui.Px(190)));
  bool keep = ui.state.search_requested;
  if (ui.state.search_requested) {
    ImGui::SetKeyboardFocusHere();
    ui.state.tab = Tab::kSearch;
    ui.state.tab_requested = true;
  }
  const bool entered = ImGui::InputTextWithHint(
      "##search", "search ( / )", &ui.state.search,
      ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_CallbackAlways, KeepTypedText, &keep);
  if (ImGui::IsItemActive()) ui.state.search_requested = false;
  if (ImGui::IsItemEdited()) {
    ui.state.search_hit = SIZE_MAX;
    ui.state.tab_requested = ui.state.tab != Tab::kSearch;
    ui.state.tab = Tab::kSearch;
  }
  if (entered) {
    GoToNextHit(true, ui.actions());
    ui.state.tab_requested = true;
    ui.state.tab = Tab::kSearch;
  }
  if (ui.state.search.empty()) return;
  ImGui::SameLine();
  DimText(ui.theme, std::to_string(ui.analysis.search().count) + " hits");
}

}  // namespace

void DrawMenuBar(const Ui& ui) {
  if (!ImGui::BeginMenuBar()) return;
  DrawFileMenu(ui);
  DrawViewMenu(ui);
  DrawPlacementMenu(ui);
  if (ImGui::MenuItem("Keys  ?")) ui.state.show_help = true;
  ImGui::EndMenuBar();
}

void DrawToolbar(const Ui& ui) {
  DrawChoice("##colour", "Colour by", kColours, ui.Px(130), &ui.state.colour);
  const Alignment before = ui.state.alignment;
  DrawChoice("##align", "Align by", kAlignments, ui.Px(110), &ui.state.alignment);
  if (ui.state.alignment == Alignment::kOp && ui.state.selection.op >= 0) {
    ui.state.align_op = ui.state.selection.op;
  }
  if (before != ui.state.alignment) ui.state.fit_requested = true;
  DrawLaneChoice(ui);
  ImGui::Checkbox("critical path", &ui.state.show_critical);
  ImGui::SameLine();
  ImGui::Checkbox("arrows", &ui.state.show_arrows);
  ImGui::SameLine();
  DrawSearchField(ui);
  if (!ui.state.message.empty()) {
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
    DimText(ui.theme, Shorten(ui.state.message, ImGui::GetContentRegionAvail().x));
  }
}

}  // namespace lanescope::gui
