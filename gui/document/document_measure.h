// SPDX-License-Identifier: Apache-2.0
// Runs an edited placement on this machine's devices.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/thread.h"
#include "gui/document/document.h"
#include "gui/document/document_whatif.h"
#include "study/base/cancellation.h"

namespace lanescope::gui {

struct MeasureRequest {
  std::shared_ptr<const WhatIfBase> base;
  std::shared_ptr<const WhatIfEdit> edit;
  MeasureOptions options;
};

// One measurement on its own thread: writes the prediction and the measurement into a trace, each a run of
// its own. Every method returns at once, except the destructor, which cancels and waits. `wake` is called on
// the measuring thread whenever something changed.
class MeasureJob {
 public:
  MeasureJob(MeasureRequest request, std::function<void()> wake);
  ~MeasureJob();
  MeasureJob(const MeasureJob&) = delete;
  MeasureJob& operator=(const MeasureJob&) = delete;

  const std::string& trace_path() const { return request_.options.trace_path; }
  bool done() const { return done_.load(std::memory_order_acquire); }
  double progress() const { return progress_.load(std::memory_order_relaxed); }
  // Why it failed; empty: it did not. Once done.
  std::string problem() const;
  // The notes of the run. Once done.
  std::string note() const;
  // Ends the step in progress.
  void Cancel() { cancellation_.Cancel(); }

 private:
  void Run();
  void Measure();

  const MeasureRequest request_;
  const std::function<void()> wake_;
  study::Cancellation cancellation_;
  std::atomic<bool> done_{false};  // released after problem_ is written
  std::atomic<double> progress_{0};
  mutable std::mutex mutex_;
  std::string problem_, note_;  // guarded by mutex_
  Thread thread_;
};

}  // namespace lanescope::gui
