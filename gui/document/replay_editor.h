// SPDX-License-Identifier: Apache-2.0
// The what-if of a run without a graph: its knobs with undo and redo, and the replay of what they are set to.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gui/document/document_replay.h"
#include "gui/document/edit_history.h"
#include "gui/model/latest_worker.h"
#include "gui/model/timeline_data.h"

namespace lanescope::gui {

// For the inspector. Changes only in Document's calls.
struct ReplayView {
  RunKey base = 0;    // the run that is changed; 0: none
  RunKey result = 0;  // the newest replay with changes; 0: none yet
  bool preparing = false, simulating = false;
  std::string problem;  // why there is no replay, or none with these changes; one line
  std::vector<traces::WhatIfKnob> knobs;
  std::vector<ReplaySetting> settings;  // by knob
  std::vector<std::string> changes;     // as `lanescope simulate` takes them
  // Mean steps, or the whole trace: measured, replayed without and with the changes.
  double measured_ns = 0, replayed_ns = 0, predicted_ns = 0;
  bool has_steps = false;
  int64_t kept_ns = 0;  // of delays that nothing in the trace explains
  bool can_undo = false, can_redo = false;
  double error() const { return measured_ns > 0 ? replayed_ns / measured_ns - 1 : 0; }
  double change() const { return replayed_ns > 0 ? predicted_ns / replayed_ns - 1 : 0; }
};

// Belongs to the UI thread; nothing here waits. The timeline must outlive it.
class ReplayEditor {
 public:
  ReplayEditor(Timeline* timeline, std::function<void()> wake);

  // Starts over from this run, unless it is being changed already.
  void Begin(RunKey run);
  void End();
  // True: something changed.
  bool Poll();
  bool busy() const { return preparer_.busy() || simulator_.busy(); }
  const ReplayView& view() const { return view_; }

  // Changes of one knob are one for Undo until EndGesture.
  void Set(size_t knob, const ReplaySetting& setting);
  // One change as the command line has it ("launch.overhead=0us"); waits until the run is prepared. What is
  // no knob's is told in view().problem.
  void SetByText(const std::string& change);
  void EndGesture() { history_.EndGesture(); }
  void Reset();
  void Undo();
  void Redo();
  // The result stays as a run of its own; the next change makes another one.
  void KeepResult() { view_.result = 0; }

 private:
  using Settings = std::vector<ReplaySetting>;
  static constexpr size_t kNone = SIZE_MAX;

  void Push(Settings settings, size_t gesture);
  void Simulate();
  void TakeResult(ReplayResult result);

  Timeline* timeline_;
  ReplayView view_;
  std::shared_ptr<const ReplayBase> base_;
  EditHistory<Settings> history_;
  size_t gesture_ = kNone;            // the knob that was changed last; kNone: all of them
  std::vector<std::string> waiting_;  // changes, for the preparation
  uint64_t number_ = 0;               // of the newest simulation
  LatestWorker<std::shared_ptr<const RunData>, std::shared_ptr<const ReplayBase>> preparer_;
  LatestWorker<ReplayRequest, ReplayResult> simulator_;
};

}  // namespace lanescope::gui
