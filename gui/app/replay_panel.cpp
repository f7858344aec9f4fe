// SPDX-License-Identifier: Apache-2.0
// Right, below, for traces of other tools: knobs of what the trace says can be changed, and what it would
// take.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "gui/app/format.h"
#include "gui/app/sliders.h"
#include "gui/app/ui.h"
#include "gui/app/widgets.h"

namespace lanescope::gui {
namespace {

using Knob = traces::WhatIfKnob;

void DrawTimes(const Ui& ui, const ReplayView& replay) {
  const float room = ImGui::GetContentRegionAvail().x;
  const std::string what = replay.has_steps ? "predicted step " : "predicted ";
  ImGui::TextUnformatted((what + TimeText(replay.predicted_ns)).c_str());
  if (!replay.changes.empty()) {
    ImGui::SameLine();
    ColouredText(replay.change() > 0 ? ui.theme.bad : ui.theme.good, SignedPercentText(replay.change()));
    Tooltip("against the replay without changes, " + TimeText(replay.replayed_ns));
  }
  // A line in any case, so that nothing below jumps.
  DimText(ui.theme, replay.simulating ? "replaying…"
                                      : Shorten("replayed " + TimeText(replay.replayed_ns) + ", measured " +
                                                    TimeText(replay.measured_ns),
                                                room));
  Tooltip("the replay without changes is off by " + SignedPercentText(replay.error()) +
          (replay.kept_ns > 0
               ? "; " + TimeText(replay.kept_ns) + " of delays that nothing in the trace explains are kept"
               : ""));
}

void DrawHistory(const Ui& ui, const ReplayView& replay) {
  ImGui::BeginDisabled(!replay.can_undo);
  if (ImGui::Button("Undo")) ui.document.Undo();
  ImGui::EndDisabled();
  ImGui::SameLine();
  ImGui::BeginDisabled(!replay.can_redo);
  if (ImGui::Button("Redo")) ui.document.Redo();
  ImGui::EndDisabled();
  ImGui::SameLine();
  ImGui::BeginDisabled(replay.result == 0);
  if (ImGui::Button("Keep")) ui.document.KeepResult();
  ImGui::EndDisabled();
  Tooltip("keeps this replay as a run; the next change makes another one");
  ImGui::SameLine();
  ImGui::BeginDisabled(replay.changes.empty());
  if (ImGui::Button("Reset")) ui.document.ResetReplay();
  ImGui::SameLine();
  if (ImGui::Button("Copy")) ImGui::SetClipboardText(ReplayCommand(ui.document).c_str());
  ImGui::EndDisabled();
  Tooltip("copies the changes as a command line of `lanescope simulate`");
}

std::string ValueText(const Knob& knob, double value) {
  switch (knob.kind) {
    case Knob::Kind::kSpeed:
      return PercentText(value, 0);
    case Knob::Kind::kDuration:
      return TimeText(std::llround(value));
    default:
      return CountText(std::llround(value));
  }
}

// "GPU:0" of "speed of GPU:0": a slider in percent says it.
std::string LabelOf(const Knob& knob) {
  constexpr std::string_view kSpeed = "speed of ";
  return knob.label.starts_with(kSpeed) ? knob.label.substr(kSpeed.size()) : knob.label;
}

// The parts that it concerns, for the tooltip of its label.
std::string Concerns(const Knob& knob) {
  return knob.what + ": concerns " + CountText(knob.count) + ", which take " + TimeText(knob.ns) +
         " all together";
}

void DrawChoice(const Ui& ui, const Knob& knob, size_t number, const ReplaySetting& setting) {
  ImGui::AlignTextToFramePadding();
  const float room = ImGui::GetContentRegionAvail().x * 0.55f;
  const float begin = ImGui::GetCursorPosX();
  DimText(ui.theme, Shorten(knob.label, room - ui.Px(8)));
  Tooltip(Concerns(knob));
  ImGui::SameLine(begin + room);
  ImGui::SetNextItemWidth(-1);
  if (!ImGui::BeginCombo("##choice", setting.choice.empty() ? "as it was" : setting.choice.c_str())) return;
  if (ImGui::Selectable("as it was", setting.choice.empty()))
    ui.document.SetKnob(number, {setting.value, ""});
  for (const std::string& choice : knob.choices) {
    if (ImGui::Selectable(choice.c_str(), choice == setting.choice))
      ui.document.SetKnob(number, {setting.value, choice});
  }
  ImGui::EndCombo();
}

void DrawNumber(const Ui& ui, const Knob& knob, size_t number, const ReplaySetting& setting) {
  auto shown = static_cast<float>(setting.value);
  bool let_go = false;
  const bool speed = knob.kind == Knob::Kind::kSpeed;
  const SliderLine line{"##value",
                        LabelOf(knob),
                        ValueText(knob, setting.value),
                        ValueText(knob, knob.high),
                        static_cast<float>(knob.low),
                        static_cast<float>(knob.high),
                        speed};
  if (DrawSlider(ui, line, &shown, &let_go)) {
    double value = shown;
    if (speed && std::abs(value - 1) < 0.03) value = 1;
    if (knob.kind == Knob::Kind::kCount) value = std::round(value);
    // A value near to "as it is" is meant to be it.
    if (knob.kind == Knob::Kind::kDuration && std::abs(value - knob.now) < 0.015 * (knob.high - knob.low))
      value = knob.now;
    ui.document.SetKnob(number, {value, ""});
  }
  if (let_go) ui.document.EndGesture();
}

void DrawKnobs(const Ui& ui, const ReplayView& replay) {
  std::vector<const Knob*> refused;
  for (size_t i = 0; i < replay.knobs.size(); ++i) {
    const Knob& knob = replay.knobs[i];
    if (!knob.refused.empty()) {
      refused.push_back(&knob);
      continue;
    }
    ImGui::PushID(static_cast<int>(i));
    if (knob.kind == Knob::Kind::kChoice) {
      DrawChoice(ui, knob, i, replay.settings[i]);
    } else {
      DrawNumber(ui, knob, i, replay.settings[i]);
    }
    ImGui::PopID();
  }
  for (const Knob* knob : refused) {
    DimText(ui.theme, Shorten(knob->label + ": not known", ImGui::GetContentRegionAvail().x));
    Tooltip(knob->what + ": " + knob->refused);
  }
}

}  // namespace

void DrawReplayPanel(const Ui& ui, RunKey run) {
  const ReplayView& replay = ui.document.replay();
  const ShownRun* shown = ui.timeline().Find(run);
  ColouredText(KindColour(ui.theme, shown->data->kind),
               Shorten(shown->title, ImGui::GetContentRegionAvail().x));
  if (replay.base == 0) {
    if (ImGui::Button("Change what it did", ImVec2(-1, 0))) ui.document.BeginReplay(run);
    Tooltip("replays the trace with faster kernels, links or host, cheaper launches, copies removed…");
    return;
  }
  if (replay.preparing) return DimText(ui.theme, "reading what waits for what…");
  if (!replay.knobs.empty()) {
    DrawTimes(ui, replay);
    DrawHistory(ui, replay);
    DrawKnobs(ui, replay);
  }
  if (!replay.problem.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.limit);
    ImGui::TextWrapped("%s", replay.problem.c_str());
    ImGui::PopStyleColor();
  }
  if (ImGui::SmallButton("End what-if")) ui.document.EndReplay();
}

}  // namespace lanescope::gui
