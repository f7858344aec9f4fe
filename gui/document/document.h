// SPDX-License-Identifier: Apache-2.0
// Everything that the window shows and does beyond drawing: open files, runs, edited placements, simulations,
// measurements.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gui/document/replay_editor.h"
#include "gui/model/timeline_data.h"
#include "gui/model/trace_loader.h"
#include "study/measure/run_settings.h"

namespace lanescope::gui {

struct OpenFile {
  std::string path;
  LoadState state;
  std::vector<RunKey> runs;
};

// Edits of a placement are offered in these terms.
struct EditableDevice {
  std::string label, full_name;
  std::string kind;
  double speed = 1;  // factor on the time that launches take is 1 / speed
};
struct EditableLink {
  std::string label;          // "GPU:0 ↔ GPU:1"
  double bandwidth = 0;       // bytes per second, now
  double base_bandwidth = 0;  // before any edit
};

// The state of what-if on one run, for the inspector. Changes only in Document's calls.
struct WhatIfView {
  RunKey base = 0;         // the run that is edited
  RunKey result = 0;       // the newest simulated run; 0: none yet
  RunKey measured = 0;     // the newest that was run from here; 0: none yet
  bool preparing = false;  // graph, calibration and base simulation are being made
  bool simulating = false;
  bool measuring = false;
  double measure_progress = 0;  // 0..1
  std::string records_into;     // the trace that running it from here writes, or is writing
  std::string measure_note;     // what the newest run from here has to say: "note: ..."
  std::string problem;          // why there is no what-if or why the last edit was refused; one line
  std::string note;             // "calibrated on run 1; without interference", "uncalibrated: ..."
  std::string graph_path;
  std::vector<EditableDevice> devices;
  std::vector<EditableLink> links;
  int moved_ops = 0;  // against the base placement
  bool machine_changed = false;
  bool fused = false, fusion_changed = false;  // whether nodes share launches, and did not before, or did
  bool can_undo = false, can_redo = false;
  std::string undo_text, redo_text;  // "move 4 ops to GPU:1"
  int64_t base_step_ns = 0;          // predicted for the unedited placement on the unedited machine
  int64_t step_ns = 0;               // predicted for the edited one
  // Nine in ten steps of the edited one; 0: not known, or not yet (it comes after the value).
  int64_t step_low_ns = 0, step_high_ns = 0;
  double change() const {
    return base_step_ns > 0 ? static_cast<double>(step_ns) / static_cast<double>(base_step_ns) - 1 : 0;
  }
  uint64_t edit = 0;            // number of edits and undos so far
  uint64_t timed_edit = 0;      // of which step_ns is
  uint64_t simulated_edit = 0;  // that `result` shows
};

struct MeasureOptions : study::RunRequest {
  std::string trace_path;  // appended to; empty: the file that the base run is in
};

// One per window. Every method belongs to the UI thread and returns at once: files are read, runs simulated
// and measured on threads of its own, and Poll brings their results in. `wake` is called from those threads
// when Poll has something to do; it must be thread-safe (glfwPostEmptyEvent is). The destructor cancels
// everything and waits for the threads to notice.
class Document {
 public:
  explicit Document(std::function<void()> wake = nullptr);
  ~Document();
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  // Files. Opening an open file reads it anew. Problems appear in the file's state.
  void Open(const std::string& path);
  void CloseFile(const std::string& path);
  void CancelLoad(const std::string& path);
  const std::vector<OpenFile>& files() const;
  bool loading() const;

  // Takes in what the threads have done. True: something changed. Call once a frame.
  bool Poll();
  // Something is in work, so that a frame now and then shows its progress.
  bool busy() const;

  Timeline& timeline();
  const Timeline& timeline() const;
  // Takes a run off the screen; the file is untouched.
  void RemoveRun(RunKey run);

  // Edits of what-ifs. An edit of another run than before starts anew from that run. Node names are the ops'
  // names. An op whose placement is tied to others (by references, resources, loc:@) takes them along.
  void BeginWhatIf(RunKey base);
  void MoveOps(RunKey base, const std::vector<std::string>& nodes, const std::string& device_label);
  void MoveScope(RunKey base, const std::string& scope, const std::string& device_label);
  void SetLinkBandwidth(RunKey base, int link, double bytes_per_second);
  void SetDeviceSpeed(RunKey base, DeviceId device, double speed);
  void ResetMachine(RunKey base);
  void SetFusion(RunKey base, bool fused);
  // Changes of one bandwidth or speed are one for Undo until here: the slider was let go.
  void EndGesture();
  void Undo();
  void Redo();
  // The result stays as a run of its own; the next edit makes another one.
  void KeepResult();
  void EndWhatIf();
  const WhatIfView& what_if() const;
  // The device of a node in the edited placement ("GPU:0"); empty: unknown. And where it may go.
  std::string DeviceOfNode(const std::string& node) const;
  std::vector<std::string> FeasibleDevicesOf(const std::string& node) const;

  // A what-if of runs without a graph (IsReplayable). It and that of a placement end each other. Undo, Redo,
  // KeepResult and EndGesture are of the one that goes on.
  void BeginReplay(RunKey base);
  void SetKnobByText(const std::string& change);
  void SetKnob(size_t knob, const ReplaySetting& setting);
  void ResetReplay();
  void EndReplay();
  const ReplayView& replay() const;

  // Where graphs are looked for, beside the trace's folder, its parents and the working directory.
  void AddGraphFolder(const std::string& folder);
  // Use this graph file for the run's what-if.
  void UseGraph(RunKey base, const std::string& graph_path);

  // Files in the formats of the command line: `--strategy @placement.json` and `--machine machine.json`.
  // Throw Error (the UI shows its message).
  void SavePlacement(const std::string& path) const;
  void SaveMachine(const std::string& path) const;

  // Executes the edited placement (or, without edits, the base's) on this machine's devices in the background
  // and appends prediction and measurement to a trace, which then is read again. Progress and problems are in
  // what_if().
  void RunIt(const MeasureOptions& options);
  void CancelRun();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanescope::gui
