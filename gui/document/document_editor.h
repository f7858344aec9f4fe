// SPDX-License-Identifier: Apache-2.0
// The what-if of a document: which run is edited, the edits with undo and redo, the simulation of the latest.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gui/document/document.h"
#include "gui/document/document_measure.h"
#include "gui/document/document_whatif.h"
#include "gui/document/edit_history.h"
#include "gui/model/latest_worker.h"

namespace lanescope::gui {

// Belongs to the UI thread; nothing here waits. The timeline must outlive it.
class WhatIfEditor {
 public:
  WhatIfEditor(Timeline* timeline, std::function<void()> wake);

  // Starts over from this run, unless it is being edited already.
  void Begin(RunKey run);
  void End();
  // True: something changed.
  bool Poll();
  bool busy() const;
  const WhatIfView& view() const { return view_; }
  bool IsBase(RunKey run) const { return view_.base == run && run != 0; }

  // Edits wait until the run is prepared.
  using Edit = std::function<std::shared_ptr<const WhatIfEdit>(const WhatIfBase&, const WhatIfEdit&,
                                                               std::string* note)>;
  void Apply(Edit edit);
  void EndGesture() { edits_.EndGesture(); }
  void Undo();
  void Redo();
  void KeepResult();
  void AddGraphFolder(const std::string& folder) { folders_.push_back(folder); }
  void UseGraph(RunKey run, const std::string& path);

  // Null before the run is prepared.
  const WhatIfBase* base() const { return base_.get(); }
  std::shared_ptr<const WhatIfEdit> current() const { return edits_.empty() ? nullptr : edits_.current(); }

  void Measure(const MeasureOptions& options);
  void CancelMeasurement();
  // Puts the runs of a measurement beside their prediction, the measured one first.
  void PlaceMeasured(std::vector<RunKey> runs);
  // The trace that a finished measurement wrote to, once; empty: none finished.
  std::string TakeMeasuredTrace();

 private:
  void Prepare(const std::string& graph_path);
  void TakePrepared(std::shared_ptr<const WhatIfBase> base);
  void TakeStep(SimulatedStep step);
  void TakeRun(SimulateResult result);
  void RequestInterval(std::shared_ptr<const RunData> run, std::shared_ptr<const CompiledEdit> compiled);
  void TakeInterval(SimulateResult result);
  void ApplyNow(const Edit& edit);
  void Simulate();
  void ShowRun(std::shared_ptr<const RunData> run);
  void UpdateView();

  Timeline* timeline_;
  std::function<void()> wake_;
  std::vector<std::string> folders_;
  WhatIfView view_;
  std::shared_ptr<const WhatIfBase> base_;
  EditHistory<std::shared_ptr<const WhatIfEdit>> edits_;
  std::vector<Edit> waiting_;  // for the preparation
  RunKey interval_of_ = 0;     // the run that waits for its interval
  std::string measured_trace_;
  std::unique_ptr<MeasureJob> measurement_;
  LatestWorker<PrepareRequest, std::shared_ptr<const WhatIfBase>> preparer_;
  LatestWorker<SimulateRequest, SimulatedStep> simulator_;
  LatestWorker<ShowRequest, SimulateResult> shower_;
  LatestWorker<IntervalRequest, SimulateResult> interval_;
};

}  // namespace lanescope::gui
