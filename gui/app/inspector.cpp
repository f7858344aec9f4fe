// SPDX-License-Identifier: Apache-2.0
// Right, below: what if the selected op ran elsewhere, or the machine were another.
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>

#include "core/base/units.h"
#include "gui/app/format.h"
#include "gui/app/sliders.h"
#include "gui/app/ui.h"
#include "gui/app/widgets.h"

namespace lanescope::gui {
namespace {

void DrawDeviceChoice(const Ui& ui, const WhatIfView& what_if) {
  const Selection& selection = ui.state.selection;
  if (selection.op < 0 && selection.ops.empty()) return;
  const bool several = selection.ops.size() > 1;
  const std::string node = selection.op >= 0 ? ui.timeline().NameOf(selection.op) : "";
  const std::string current = several ? "several" : ui.document.DeviceOfNode(node);
  ImGui::AlignTextToFramePadding();
  DimText(ui.theme, several ? "move them to" : "device");
  ImGui::SameLine(ui.Px(96));
  ImGui::SetNextItemWidth(-1);
  if (!ImGui::BeginCombo("##device", current.empty() ? "-" : current.c_str())) return;
  std::vector<std::string> feasible;
  if (!several) feasible = ui.document.FeasibleDevicesOf(node);
  for (const EditableDevice& device : what_if.devices) {
    const bool allowed =
        several || std::find(feasible.begin(), feasible.end(), device.label) != feasible.end();
    const bool is_current = !several && device.label == current;
    if (ImGui::Selectable(device.label.c_str(), is_current,
                          allowed ? ImGuiSelectableFlags_None : ImGuiSelectableFlags_Disabled) &&
        !is_current) {
      MoveSelection(what_if.base, "", device.label, ui.actions());
    }
  }
  ImGui::EndCombo();
}

void DrawMachine(const Ui& ui, const WhatIfView& what_if) {
  DimText(ui.theme, "Machine");
  bool let_go = false;
  for (size_t i = 0; i < what_if.links.size(); ++i) {
    const EditableLink& link = what_if.links[i];
    if (!(link.base_bandwidth > 0)) continue;
    double factor = link.bandwidth / link.base_bandwidth;
    ImGui::PushID(static_cast<int>(i));
    if (FactorSlider(ui, "##link", link.label, FormatBandwidth(link.bandwidth), &factor, &let_go)) {
      ui.document.SetLinkBandwidth(what_if.base, static_cast<int>(i), factor * link.base_bandwidth);
    }
    ImGui::PopID();
  }
  for (size_t i = 0; i < what_if.devices.size(); ++i) {
    const EditableDevice& device = what_if.devices[i];
    double speed = device.speed;
    ImGui::PushID(static_cast<int>(1000 + i));
    if (FactorSlider(ui, "##speed", device.label + " speed", PercentText(speed, 0), &speed, &let_go)) {
      ui.document.SetDeviceSpeed(what_if.base, DeviceId(i), speed);
    }
    ImGui::PopID();
  }
  if (let_go) ui.document.EndGesture();
  if (what_if.machine_changed && ImGui::SmallButton("as it was")) ui.document.ResetMachine(what_if.base);
}

void DrawPrediction(const Ui& ui, const WhatIfView& what_if) {
  if (what_if.preparing) {
    DimText(ui.theme, "preparing: graph, costs, first simulation…");
    return;
  }
  if (what_if.step_ns <= 0) return;
  const float room = ImGui::GetContentRegionAvail().x;
  ImGui::TextUnformatted(("predicted step " + TimeText(what_if.step_ns)).c_str());
  if (what_if.base_step_ns > 0 &&
      (what_if.moved_ops > 0 || what_if.machine_changed || what_if.fusion_changed)) {
    ImGui::SameLine();
    ColouredText(what_if.change() > 0 ? ui.theme.bad : ui.theme.good, SignedPercentText(what_if.change()));
    Tooltip("against the prediction for the unchanged placement, " + TimeText(what_if.base_step_ns));
  }
  // A line in any case, so that nothing below jumps when the interval comes.
  if (what_if.step_high_ns > what_if.step_low_ns) {
    DimText(ui.theme, TimeText(what_if.step_low_ns) + " to " + TimeText(what_if.step_high_ns));
    Tooltip("nine in ten steps are expected in here");
  } else {
    DimText(ui.theme, what_if.simulating ? "simulating…" : "interval…");
  }
  DimText(ui.theme, Shorten("unchanged: " + TimeText(what_if.base_step_ns) + " predicted", room));
  std::string text = CountText(what_if.moved_ops) + (what_if.moved_ops == 1 ? " op moved" : " ops moved");
  if (what_if.machine_changed) text += ", machine changed";
  if (what_if.fusion_changed) text += what_if.fused ? ", launches shared" : ", launches apart";
  DimText(ui.theme, text);
  if (!what_if.note.empty()) {
    DimText(ui.theme, Shorten(what_if.note, ImGui::GetContentRegionAvail().x));
    Tooltip(what_if.note +
            ". Interference, cache transfers and hand-offs take microbenchmarks: `lanescope calibrate` and "
            "`compare` run them, so their predictions may differ.");
  }
}

void DrawFusion(const Ui& ui, const WhatIfView& what_if) {
  bool fused = what_if.fused;
  if (ImGui::Checkbox("nodes share launches", &fused)) ui.document.SetFusion(what_if.base, fused);
  Tooltip("nodes that read each other's results run as one launch, as with --fusion");
}

void DrawHistory(const Ui& ui, const WhatIfView& what_if) {
  ImGui::BeginDisabled(!what_if.can_undo);
  if (ImGui::Button("Undo")) ui.document.Undo();
  ImGui::EndDisabled();
  if (what_if.can_undo) Tooltip(what_if.undo_text);
  ImGui::SameLine();
  ImGui::BeginDisabled(!what_if.can_redo);
  if (ImGui::Button("Redo")) ui.document.Redo();
  ImGui::EndDisabled();
  if (what_if.can_redo) Tooltip(what_if.redo_text);
  ImGui::SameLine();
  ImGui::BeginDisabled(what_if.result == 0);
  if (ImGui::Button("Keep")) ui.document.KeepResult();
  ImGui::EndDisabled();
  Tooltip("keeps this prediction as a run; the next change makes another one");
  ImGui::SameLine();
  if (ImGui::Button("Save…")) ui.state.show_save = true;
  Tooltip("saves placement and machine as files for the command line (Ctrl+S)");
}

void DrawWhereItRecords(const Ui& ui, const WhatIfView& what_if) {
  ImGui::PushTextWrapPos(0);
  DimText(ui.theme, RunItText(what_if));
  ImGui::PopTextWrapPos();
  Tooltip(what_if.records_into +
          ": what else runs here meanwhile is disturbed, and disturbs the measurement");
}

void DrawMeasuring(const Ui& ui, const WhatIfView& what_if) {
  if (what_if.measuring) {
    ImGui::ProgressBar(static_cast<float>(what_if.measure_progress),
                       ImVec2(ImGui::GetContentRegionAvail().x - ui.Px(70), 0));
    ImGui::SameLine();
    if (ImGui::Button("Cancel")) ui.document.CancelRun();
    DrawWhereItRecords(ui, what_if);
    return;
  }
  ImGui::BeginDisabled(what_if.preparing || what_if.graph_path.empty());
  ImGui::PushStyleColor(ImGuiCol_Button, Mix(ui.theme.panel, ui.theme.accent, 0.6f));
  if (ImGui::Button("Run it on this machine", ImVec2(-ui.Px(34), 0))) ui.document.RunIt(ui.state.run_options);
  ImGui::PopStyleColor();
  Tooltip("executes this placement and puts the measurement beside the prediction");
  ImGui::SameLine();
  if (ImGui::Button("…##run", ImVec2(-1, 0))) ui.state.show_run = true;
  Tooltip("how: steps, seed, what of the GPUs is recorded");
  ImGui::EndDisabled();
  if (!what_if.records_into.empty()) DrawWhereItRecords(ui, what_if);
  if (const ShownRun* measured = ui.timeline().Find(what_if.measured)) {
    ColouredText(KindColour(ui.theme, measured->data->kind),
                 Shorten("measured " + TimeText(measured->data->step_ns) + ": " + measured->title,
                         ImGui::GetContentRegionAvail().x));
    Tooltip("the newest run from here; it stands below the prediction");
  }
  if (!what_if.measure_note.empty()) {
    DimText(ui.theme, Shorten(what_if.measure_note, ImGui::GetContentRegionAvail().x));
    Tooltip(what_if.measure_note);
  }
}

// Without its graph a run cannot be changed: then this asks for the file.
void DrawProblem(const Ui& ui, const WhatIfView& what_if, RunKey run) {
  if (what_if.problem.empty()) return;
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.limit);
  ImGui::TextWrapped("%s", what_if.problem.c_str());
  ImGui::PopStyleColor();
  if (!what_if.graph_path.empty()) return;
  ImGui::SetNextItemWidth(-1);
  if (ImGui::InputTextWithHint("##graph", "path of the graph, then Enter", &ui.state.graph_path,
                               ImGuiInputTextFlags_EnterReturnsTrue)) {
    ui.document.UseGraph(run, ui.state.graph_path);
  }
}

// Changes of a run of ours: another placement, another machine.
void DrawPlacementWhatIf(const Ui& ui, RunKey run) {
  const WhatIfView& what_if = ui.document.what_if();
  const ShownRun* shown = ui.timeline().Find(run);
  ColouredText(KindColour(ui.theme, shown->data->kind),
               Shorten(shown->title, ImGui::GetContentRegionAvail().x));
  if (what_if.base == 0) {
    if (ImGui::Button("Change this placement", ImVec2(-1, 0))) ui.document.BeginWhatIf(run);
    Tooltip("or drag a selected slice to the lane of another device");
    DrawProblem(ui, what_if, run);
    return;
  }
  DrawPrediction(ui, what_if);
  DrawDeviceChoice(ui, what_if);
  DrawHistory(ui, what_if);
  DrawMeasuring(ui, what_if);
  DrawProblem(ui, what_if, what_if.base);  // below the buttons: they stay where they are
  if (!what_if.links.empty() || !what_if.devices.empty()) DrawMachine(ui, what_if);
  if (!what_if.graph_path.empty()) DrawFusion(ui, what_if);
  if (ImGui::SmallButton("End what-if")) ui.document.EndWhatIf();
}

}  // namespace

void DrawInspector(const Ui& ui) {
  DrawOpPanel(ui);
  ImGui::Spacing();
  ImGui::Separator();
  ImGui::Spacing();
  DimText(ui.theme, "What if?");
  const RunKey run = EditedRun(ui.document, ui.state), replayed = ReplayedRun(ui.document, ui.state);
  if (replayed != 0) {
    DrawReplayPanel(ui, replayed);
  } else if (ui.timeline().Find(run) != nullptr) {
    DrawPlacementWhatIf(ui, run);
  } else {
    ImGui::PushTextWrapPos(0);
    DimText(ui.theme, "Neither graph nor calls of this run are known: nothing in it can be changed.");
    ImGui::PopTextWrapPos();
  }
}

}  // namespace lanescope::gui
