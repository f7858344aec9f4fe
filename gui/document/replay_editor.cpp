// SPDX-License-Identifier: Apache-2.0
#include "gui/document/replay_editor.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/error.h"
#include "core/base/units.h"

namespace lanescope::gui {
namespace {

double NumberOf(const std::string& change, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0))
    Throw(Code::kInvalidArgument, "'{}' needs a positive number after the last '='", change);
  return value;
}

}  // namespace

ReplayEditor::ReplayEditor(Timeline* timeline, std::function<void()> wake)
    : timeline_(timeline), preparer_(PrepareReplay, wake), simulator_(SimulateReplay, wake) {}

void ReplayEditor::Begin(RunKey run) {
  if (view_.base == run && (base_ != nullptr || view_.preparing)) return;
  End();
  const ShownRun* shown = timeline_->Find(run);
  if (shown == nullptr) return;
  view_.base = run;
  view_.preparing = true;
  preparer_.Submit(shown->data);
}

void ReplayEditor::End() {
  preparer_.Cancel();
  simulator_.Cancel();
  base_.reset();
  history_.Clear();
  waiting_.clear();
  view_ = {};
}

bool ReplayEditor::Poll() {
  bool changed = false;
  if (auto base = preparer_.Take()) {
    base_ = std::move(*base);
    view_.preparing = false;
    view_.knobs = base_->knobs;
    Settings settings;
    for (const traces::WhatIfKnob& knob : base_->knobs) settings.push_back({knob.now, ""});
    view_.settings = settings;
    history_.Start(std::move(settings));
    view_.measured_ns = base_->unchanged.measured_ns();
    view_.replayed_ns = view_.predicted_ns = base_->unchanged.replayed_ns();
    view_.has_steps = base_->unchanged.has_steps;
    view_.kept_ns = base_->unchanged.facts.kept_ns;
    for (const std::string& change : std::exchange(waiting_, {})) SetByText(change);
    changed = true;
  }
  if (std::string error = preparer_.TakeError(); !error.empty()) {
    view_.preparing = false;
    view_.problem = error;
    changed = true;
  }
  if (auto result = simulator_.Take()) {
    TakeResult(std::move(*result));
    changed = true;
  }
  if (std::string error = simulator_.TakeError(); !error.empty()) {
    view_.simulating = false;
    view_.problem = error;
    changed = true;
  }
  return changed;
}

void ReplayEditor::Set(size_t knob, const ReplaySetting& setting) {
  if (base_ == nullptr || knob >= view_.settings.size() || view_.settings[knob] == setting) return;
  Settings settings = view_.settings;
  settings[knob] = setting;
  Push(std::move(settings), knob);
}

void ReplayEditor::SetByText(const std::string& change) {
  if (base_ == nullptr) {
    if (view_.preparing) waiting_.push_back(change);
    return;
  }
  const size_t equals = change.rfind('=');
  const std::string what = change.substr(0, equals),
                    to = equals == std::string::npos ? "" : change.substr(equals + 1);
  const auto knob = std::find_if(view_.knobs.begin(), view_.knobs.end(),
                                 [&](const traces::WhatIfKnob& each) { return each.what == what; });
  if (knob == view_.knobs.end()) {
    view_.problem = "this trace has no '" + what + "' to change";
    return;
  }
  if (!knob->refused.empty()) {
    view_.problem = knob->refused;
    return;
  }
  const auto number = static_cast<size_t>(knob - view_.knobs.begin());
  ReplaySetting setting = view_.settings[number];
  try {
    if (knob->kind == traces::WhatIfKnob::Kind::kChoice) {
      setting.choice = to;
    } else if (knob->kind == traces::WhatIfKnob::Kind::kDuration) {
      setting.value = static_cast<double>(ParseDuration(to));
    } else {
      setting.value = NumberOf(change, to);
    }
  } catch (const Error& error) {
    view_.problem = error.message();
    return;
  }
  Set(number, setting);
  EndGesture();
}

void ReplayEditor::Reset() {
  if (base_ != nullptr && view_.settings != history_.first()) Push(history_.first(), kNone);
}

void ReplayEditor::Push(Settings settings, size_t gesture) {
  const bool same = history_.in_gesture() && gesture != kNone && gesture == gesture_;
  gesture_ = gesture;
  history_.Push(std::move(settings), same);
  Simulate();
}

void ReplayEditor::Undo() {
  if (history_.Undo()) Simulate();
}

void ReplayEditor::Redo() {
  if (history_.Redo()) Simulate();
}

void ReplayEditor::Simulate() {
  view_.settings = history_.current();
  view_.changes = ChangesOf(base_->knobs, view_.settings);
  view_.can_undo = history_.CanUndo();
  view_.can_redo = history_.CanRedo();
  view_.problem.clear();
  view_.simulating = true;
  simulator_.Submit({base_, view_.changes, ++number_});
}

void ReplayEditor::TakeResult(ReplayResult result) {
  if (base_ == nullptr || result.number != number_) return;
  view_.simulating = false;
  view_.predicted_ns = result.what_if.predicted_ns();
  if (timeline_->Find(view_.result) != nullptr) {
    timeline_->Replace(view_.result, std::move(result.run));
    return;
  }
  view_.result = timeline_->Add(std::move(result.run));
  const int base = timeline_->IndexOf(view_.base);
  if (base >= 0) timeline_->Move(view_.result, static_cast<size_t>(base) + 1);
}

}  // namespace lanescope::gui
