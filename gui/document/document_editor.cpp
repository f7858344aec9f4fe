// SPDX-License-Identifier: Apache-2.0
#include "gui/document/document_editor.h"

#include <algorithm>

#include "core/base/error.h"

namespace lanescope::gui {
WhatIfEditor::WhatIfEditor(Timeline* timeline, std::function<void()> wake)
    : timeline_(timeline),
      wake_(std::move(wake)),
      preparer_(PrepareWhatIf, wake_),
      simulator_(SimulateEdit, wake_),
      shower_(RunOfEdit, wake_),
      interval_(AddInterval, wake_) {}

void WhatIfEditor::Begin(RunKey run) {
  if (view_.base == run && (base_ != nullptr || view_.preparing)) return;
  // Editing the result goes on with the edit.
  if (run != 0 && run == view_.result) return;
  End();
  const ShownRun* shown = timeline_->Find(run);
  if (shown == nullptr) return;
  view_.base = run;
  Prepare("");
}

void WhatIfEditor::Prepare(const std::string& graph_path) {
  const ShownRun* shown = timeline_->Find(view_.base);
  if (shown == nullptr) return;
  view_.preparing = true;
  view_.problem.clear();
  preparer_.Submit({shown->data, graph_path, folders_});
}

void WhatIfEditor::End() {
  preparer_.Cancel();
  simulator_.Cancel();
  shower_.Cancel();
  interval_.Cancel();
  base_.reset();
  edits_.Clear();
  waiting_.clear();
  const bool measuring = view_.measuring;
  const double progress = view_.measure_progress;
  const std::string records_into = view_.records_into;
  view_ = {};
  if (measuring) view_.records_into = records_into;
  view_.measuring = measuring;
  view_.measure_progress = progress;
}

void WhatIfEditor::UseGraph(RunKey run, const std::string& path) {
  if (view_.base != run) {
    End();
    view_.base = run;
  }
  base_.reset();
  edits_.Clear();
  Prepare(path);
}

bool WhatIfEditor::busy() const {
  return preparer_.busy() || simulator_.busy() || shower_.busy() || interval_.busy() || view_.measuring;
}

bool WhatIfEditor::Poll() {
  bool changed = false;
  if (auto base = preparer_.Take()) {
    TakePrepared(std::move(*base));
    changed = true;
  }
  if (std::string error = preparer_.TakeError(); !error.empty()) {
    view_.preparing = false;
    view_.problem = error;
    waiting_.clear();
    changed = true;
  }
  if (auto step = simulator_.Take()) {
    TakeStep(std::move(*step));
    changed = true;
  }
  if (auto result = shower_.Take()) {
    TakeRun(std::move(*result));
    changed = true;
  }
  for (const std::string& error : {simulator_.TakeError(), shower_.TakeError()}) {
    if (error.empty()) continue;
    view_.simulating = false;
    view_.problem = error;
    changed = true;
  }
  if (auto result = interval_.Take()) {
    TakeInterval(std::move(*result));
    changed = true;
  }
  interval_.TakeError();  // the value stands without it
  if (measurement_ != nullptr) {
    const double progress = measurement_->progress();
    changed = changed || progress != view_.measure_progress;
    view_.measure_progress = progress;
    if (measurement_->done()) {
      view_.measuring = false;
      view_.problem = measurement_->problem();
      view_.measure_note = measurement_->note();
      measured_trace_ = measurement_->trace_path();
      measurement_.reset();
      changed = true;
    }
  }
  return changed;
}

void WhatIfEditor::TakePrepared(std::shared_ptr<const WhatIfBase> base) {
  view_.preparing = false;
  base_ = std::move(base);
  edits_.Start(std::make_shared<const WhatIfEdit>(base_->start));
  view_.base_step_ns = base_->start_step_ns;
  view_.step_ns = base_->start_step_ns;
  UpdateView();
  RequestInterval(base_->start_run, base_->start_compiled);
  for (const Edit& edit : std::exchange(waiting_, {})) ApplyNow(edit);
}

void WhatIfEditor::Apply(Edit edit) {
  if (base_ != nullptr) {
    ApplyNow(edit);
  } else if (view_.preparing) {
    waiting_.push_back(std::move(edit));
  }
}

void WhatIfEditor::ApplyNow(const Edit& edit) {
  view_.problem.clear();
  std::shared_ptr<const WhatIfEdit> next;
  std::string note;
  try {
    next = edit(*base_, *edits_.current(), &note);
  } catch (const Error& error) {
    view_.problem = error.message();
    return;
  }
  const std::string& gesture = edits_.current()->gesture;
  const bool same = edits_.in_gesture() && !gesture.empty() && gesture == next->gesture;
  edits_.Push(std::move(next), same);
  view_.problem = note;
  Simulate();
}

void WhatIfEditor::Undo() {
  if (!edits_.Undo()) return;
  view_.problem.clear();
  Simulate();
}

void WhatIfEditor::Redo() {
  if (!edits_.Redo()) return;
  view_.problem.clear();
  Simulate();
}

void WhatIfEditor::Simulate() {
  ++view_.edit;
  shower_.Cancel();
  interval_.Cancel();
  view_.step_low_ns = view_.step_high_ns = 0;
  UpdateView();
  if (edits_.is_first()) {
    // Back where it began: known already.
    simulator_.Cancel();
    view_.simulating = false;
    view_.timed_edit = view_.simulated_edit = view_.edit;
    view_.step_ns = base_->start_step_ns;
    if (view_.result != 0) ShowRun(base_->start_run);
    RequestInterval(base_->start_run, base_->start_compiled);
    return;
  }
  view_.simulating = true;
  simulator_.Submit({base_, edits_.current(), view_.edit});
}

void WhatIfEditor::TakeStep(SimulatedStep step) {
  if (base_ == nullptr || step.number != view_.edit) return;
  view_.timed_edit = step.number;
  view_.step_ns = step.prediction->step_ns;
  shower_.Submit({{base_, edits_.current(), view_.edit}, std::move(step)});
}

void WhatIfEditor::TakeRun(SimulateResult result) {
  if (base_ == nullptr || result.number != view_.edit) return;
  view_.simulating = false;
  view_.simulated_edit = result.number;
  ShowRun(result.run);
  RequestInterval(std::move(result.run), std::move(result.compiled));
}

void WhatIfEditor::RequestInterval(std::shared_ptr<const RunData> run,
                                   std::shared_ptr<const CompiledEdit> compiled) {
  interval_of_ = view_.result;
  interval_.Submit({{base_, edits_.current(), view_.edit}, std::move(run), std::move(compiled)});
}

void WhatIfEditor::TakeInterval(SimulateResult result) {
  if (base_ == nullptr || result.number != view_.edit) return;
  view_.step_low_ns = result.run->step_low_ns;
  view_.step_high_ns = result.run->step_high_ns;
  if (timeline_->Find(interval_of_) != nullptr) timeline_->Replace(interval_of_, std::move(result.run));
}

void WhatIfEditor::ShowRun(std::shared_ptr<const RunData> run) {
  if (timeline_->Find(view_.result) != nullptr) {
    timeline_->Replace(view_.result, std::move(run));
    return;
  }
  view_.result = timeline_->Add(std::move(run));
  const int base = timeline_->IndexOf(view_.base);
  if (base >= 0) timeline_->Move(view_.result, static_cast<size_t>(base) + 1);
}

void WhatIfEditor::KeepResult() { view_.result = 0; }

void WhatIfEditor::UpdateView() {
  const WhatIfEdit& edit = *edits_.current();
  const WhatIfEdit& start = base_->start;
  view_.note = base_->note;
  // Only a prediction that kept its costs tells of microbenchmarks.
  const sims::CostTable* costs = base_->predictor->table();
  if (costs != nullptr && !costs->has_microbenchmarks()) view_.note += "; without interference";
  view_.graph_path = base_->workload->path();
  if (!view_.measuring) view_.records_into = base_->run->file;
  view_.can_undo = edits_.CanUndo();
  view_.can_redo = edits_.CanRedo();
  view_.undo_text = view_.can_undo ? edit.text : "";
  view_.redo_text = view_.can_redo ? (*edits_.next())->text : "";
  view_.moved_ops = 0;
  for (const NodeId id : edit.placement.device.ids()) {
    view_.moved_ops += edit.placement.device[id] != start.placement.device[id];
  }
  view_.fused = edit.fused;
  view_.fusion_changed = edit.fused != start.fused;
  view_.devices.clear();
  view_.machine_changed = false;
  for (const DeviceId d : edit.machine.devices.ids()) {
    const DeviceSpec& device = edit.machine.device(d);
    const double speed = edit.speed[d];
    view_.devices.push_back(
        {device.local_name(), device.name, std::string(DeviceKindName(device.kind)), speed});
    view_.machine_changed = view_.machine_changed || speed != 1;
  }
  view_.links.clear();
  for (size_t l = 0; l < edit.machine.links.size(); ++l) {
    const LinkSpec& link = edit.machine.links[l];
    const double before = start.machine.links[l].bandwidth;
    view_.links.push_back(
        {edit.machine.device(link.a).local_name() + " ↔ " + edit.machine.device(link.b).local_name(),
         link.bandwidth, before});
    view_.machine_changed = view_.machine_changed || link.bandwidth != before;
  }
}

void WhatIfEditor::Measure(const MeasureOptions& options) {
  if (base_ == nullptr || view_.measuring) return;
  MeasureRequest request;
  request.base = base_;
  request.edit = edits_.current();
  request.options = options;
  if (options.trace_path.empty()) request.options.trace_path = base_->run->file;
  view_.measuring = true;
  view_.measure_progress = 0;
  view_.records_into = request.options.trace_path;
  view_.problem.clear();
  measurement_ = std::make_unique<MeasureJob>(std::move(request), wake_);
}

void WhatIfEditor::CancelMeasurement() {
  if (measurement_ != nullptr) measurement_->Cancel();
}

void WhatIfEditor::PlaceMeasured(std::vector<RunKey> runs) {
  std::reverse(runs.begin(), runs.end());
  const RunKey after = timeline_->Find(view_.result) != nullptr ? view_.result : view_.base;
  const int at = timeline_->IndexOf(after);
  if (at < 0) return;
  for (size_t i = 0; i < runs.size(); ++i) timeline_->Move(runs[i], static_cast<size_t>(at) + 1 + i);
  for (const RunKey run : runs) {
    const RunKind kind = timeline_->Find(run)->data->kind;
    if (kind == RunKind::kEmulated || kind == RunKind::kHardware) view_.measured = run;
  }
}

std::string WhatIfEditor::TakeMeasuredTrace() { return std::exchange(measured_trace_, std::string()); }

}  // namespace lanescope::gui
