// SPDX-License-Identifier: Apache-2.0
// Left: the runs, what they are, and how they compare.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "core/base/units.h"
#include "gui/app/format.h"
#include "gui/app/ui.h"
#include "gui/app/widgets.h"
#include "gui/model/comparison_model.h"
#include "gui/model/run_remarks.h"
#include "gui/model/what_if_effect.h"

namespace lanescope::gui {
namespace {

std::string_view KindText(RunKind kind) {
  switch (kind) {
    case RunKind::kHardware:
      return "HARDWARE";
    case RunKind::kEmulated:
      return "EMULATED";
    case RunKind::kLaidOut:
      return "LAID OUT";
    case RunKind::kSimulated:
      return "SIMULATED";
    case RunKind::kWhatIf:
      return "WHAT-IF";
  }
  return "";
}

bool IsMeasured(RunKind kind) { return kind == RunKind::kHardware || kind == RunKind::kEmulated; }

// Peak memory of the device that is closest to its limit.
void DrawMemory(const Ui& ui, const RunData& run) {
  const std::vector<MemoryVerdict> verdicts = MemoryVerdicts(run);
  const MemoryVerdict* worst = nullptr;
  const auto fullness = [](const MemoryVerdict& verdict) {
    return verdict.limit_bytes > 0
               ? static_cast<double>(verdict.peak_bytes) / static_cast<double>(verdict.limit_bytes)
               : 0.0;
  };
  for (const MemoryVerdict& verdict : verdicts) {
    if (verdict.peak_bytes <= 0) continue;
    if (worst == nullptr || fullness(verdict) > fullness(*worst)) worst = &verdict;
  }
  if (worst == nullptr) return;
  ImU32 colour = ui.theme.text_dim;
  std::string text = worst->device + " peak " + FormatBytes(worst->peak_bytes);
  if (worst->limit_bytes > 0) text += " of " + FormatBytes(worst->limit_bytes);
  if (worst->answer == MemoryVerdict::Answer::kTooLarge) {
    Chip("OUT OF MEMORY", ui.theme.limit, true);
    colour = ui.theme.limit;
  } else if (worst->answer == MemoryVerdict::Answer::kTight) {
    colour = ui.theme.bad;
    text += ", tight";
  }
  ColouredText(colour, Shorten(text, ImGui::GetContentRegionAvail().x));
  if (!ImGui::IsItemHovered()) return;
  ImGui::BeginTooltip();
  for (const MemoryVerdict& verdict : verdicts) ImGui::TextUnformatted(verdict.text.c_str());
  ImGui::EndTooltip();
}

// A what-if beside its own prediction: what the change does, then what the model gets wrong without it.
void DrawEffect(const Ui& ui, const RunData& run, const WhatIfEffect& effect) {
  ImGui::SameLine();
  ColouredText(effect.change > 0 ? ui.theme.bad : ui.theme.good, SignedPercentText(effect.change));
  Tooltip("against the prediction without the change, " + TimeText(run.unchanged_step_ns));
  if (!effect.bias) return;
  DimText(ui.theme, Shorten("the model is off by " + SignedPercentText(*effect.bias),
                            ImGui::GetContentRegionAvail().x));
  Tooltip("without the change " + TimeText(run.unchanged_step_ns) + " are predicted and " +
          TimeText(run.measured_step_ns) + " were measured");
}

void DrawChange(const Ui& ui, const ShownRun& run) {
  const bool is_baseline = run.key == ui.timeline().baseline();
  const std::string time = (run.data->steps.empty() ? "" : "step ") + TimeText(run.data->step_ns);
  ImGui::TextUnformatted(run.data->empty() ? "nothing recorded" : time.c_str());
  if (const auto effect = EffectOf(*run.data)) {
    DrawEffect(ui, *run.data, *effect);
  } else if (const auto change = ui.timeline().ChangeAgainstBaseline(run.key)) {
    ImGui::SameLine();
    if (ui.timeline().CannotTell(run.key)) {
      DimText(ui.theme, SignedPercentText(*change));
      Tooltip("cannot tell: the steps of the two runs overlap by more than the runs differ");
    } else {
      ColouredText(*change > 0 ? ui.theme.bad : ui.theme.good, SignedPercentText(*change));
      Tooltip(*change > 0 ? "slower than the baseline" : "faster than the baseline");
    }
  } else if (is_baseline) {
    ImGui::SameLine();
    DimText(ui.theme, "baseline");
  }
  const RunData& data = *run.data;
  if (data.step_low_ns > 0 && data.step_high_ns > data.step_low_ns) {
    DimText(ui.theme, Shorten(TimeText(data.step_low_ns) + " to " + TimeText(data.step_high_ns),
                              ImGui::GetContentRegionAvail().x));
    Tooltip(IsMeasured(data.kind) ? "the middle half of the steps"
                                  : "nine in ten steps are expected in here");
  }
}

void DrawRemarks(const Ui& ui, const RunData& run) {
  if (!run.hosts.empty()) {
    const std::string hosts = fmt::format("on {}", fmt::join(run.hosts, ", "));
    DimText(ui.theme, Shorten(hosts, ImGui::GetContentRegionAvail().x));
    Tooltip(hosts);
  }
  const std::string text = RemarksOf(run);
  if (!text.empty()) ColouredText(ui.theme.bad, Shorten(text, ImGui::GetContentRegionAvail().x));
  if (!run.error.empty()) {
    ColouredText(ui.theme.limit, Shorten(run.error, ImGui::GetContentRegionAvail().x));
    Tooltip(run.error);
  }
}

// Visibility, baseline and removal; on the right mouse button.
void DrawRunMenu(const Ui& ui, RunKey key) {
  if (!ImGui::BeginPopupContextItem("run menu")) return;
  if (ImGui::MenuItem("Baseline")) ui.document.timeline().SetBaseline(key);
  const bool hidden = ui.state.lanes.hidden_runs.count(key) > 0;
  if (ImGui::MenuItem(hidden ? "Show" : "Hide")) {
    if (hidden) {
      ui.state.lanes.hidden_runs.erase(key);
    } else {
      ui.state.lanes.hidden_runs.insert(key);
    }
  }
  const RunData& data = *ui.timeline().Find(key)->data;
  if (ImGui::MenuItem("What if…", nullptr, false, IsReplayable(data) || HasPlacement(data))) {
    IsReplayable(data) ? ui.document.BeginReplay(key) : ui.document.BeginWhatIf(key);
  }
  const int index = ui.timeline().IndexOf(key);
  if (ImGui::MenuItem("Move up", nullptr, false, index > 0)) {
    ui.document.timeline().Move(key, static_cast<size_t>(index - 1));
  }
  if (ImGui::MenuItem("Move down", nullptr, false,
                      index + 1 < static_cast<int>(ui.timeline().runs().size()))) {
    ui.document.timeline().Move(key, static_cast<size_t>(index + 1));
  }
  if (ImGui::MenuItem("Take off the screen")) ui.document.RemoveRun(key);
  ImGui::EndPopup();
}

void DrawRun(const Ui& ui, const ShownRun& run) {
  const ImVec2 start = ImGui::GetCursorScreenPos();
  const ImU32 colour = KindColour(ui.theme, run.data->kind);
  const bool selected = ui.state.run == run.key;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->ChannelsSplit(2);
  list->ChannelsSetCurrent(1);
  ImGui::BeginGroup();
  ImGui::Indent(ui.Px(10));
  if (ImGui::RadioButton("##baseline", run.key == ui.timeline().baseline())) {
    ui.document.timeline().SetBaseline(run.key);
  }
  Tooltip("the baseline that other runs are compared with");
  ImGui::SameLine();
  ImVec2 position = ImGui::GetCursorScreenPos();
  position.y += ui.Px(2);
  const float chips_from = position.x;
  DrawKindChips(ui, list, &position, ImGui::GetContentRegionAvail().x - ImGui::GetFrameHeight() - ui.Px(8),
                *run.data);
  ImGui::Dummy(ImVec2(position.x - chips_from, ImGui::GetFrameHeight()));
  ImGui::SameLine();
  bool shown = ui.state.lanes.hidden_runs.count(run.key) == 0;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() +
                       std::max(0.0f, ImGui::GetContentRegionAvail().x - ImGui::GetFrameHeight() - ui.Px(2)));
  if (ImGui::Checkbox("##shown", &shown)) {
    if (shown) {
      ui.state.lanes.hidden_runs.erase(run.key);
    } else {
      ui.state.lanes.hidden_runs.insert(run.key);
    }
  }
  Tooltip("shown in the timeline");
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(ImGui::GetStyle().ItemSpacing.x, ui.Px(1)));
  CutText(run.title);
  DrawChange(ui, run);
  DrawMemory(ui, *run.data);
  DrawRemarks(ui, *run.data);
  ImGui::PopStyleVar();
  ImGui::Unindent(ui.Px(10));
  ImGui::EndGroup();
  const ImVec2 end(start.x + ImGui::GetContentRegionAvail().x, ImGui::GetItemRectMax().y + ui.Px(2));
  list->ChannelsSetCurrent(0);
  if (selected) list->AddRectFilled(start, end, WithAlpha(ui.theme.accent, 0.18f), ui.Px(3));
  list->AddRectFilled(start, ImVec2(start.x + ui.Px(4), end.y), colour, ui.Px(2));
  list->ChannelsMerge();
  const bool over = ImGui::IsMouseHoveringRect(start, end) && ImGui::IsWindowHovered();
  if (over && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) ui.state.run = run.key;
  DrawRunMenu(ui, run.key);
  ImGui::Dummy(ImVec2(1, ui.Px(4)));
}

}  // namespace

void DrawKindChips(const Ui& ui, ImDrawList* list, ImVec2* position, float room, const RunData& run) {
  const ImU32 colour = KindColour(ui.theme, run.kind);
  // Filled: it happened. Hollow: it was computed.
  if (IsMeasured(run.kind)) {
    if (ChipWidth("MEASURED") + ChipWidth(KindText(run.kind)) + ui.Px(8) > room) {
      position->x += DrawChip(list, *position, KindText(run.kind), colour, true) + ui.Px(4);
      return;
    }
    position->x += DrawChip(list, *position, "MEASURED", colour, true) + ui.Px(4);
  }
  position->x += DrawChip(list, *position, KindText(run.kind), colour, false) + ui.Px(4);
}

void DrawRunsPanel(const Ui& ui) {
  DimText(ui.theme, "Runs");
  // Copied: a menu may remove one.
  const std::vector<ShownRun> runs = ui.timeline().runs();
  for (const ShownRun& run : runs) {
    ImGui::PushID(static_cast<int>(run.key));
    DrawRun(ui, run);
    ImGui::PopID();
  }
}

}  // namespace lanescope::gui
