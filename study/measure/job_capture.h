// SPDX-License-Identifier: Apache-2.0
// Activities of the GPUs of a job's processes while they run a graph, gathered in the first of them.
// Internal to study.
#pragma once

#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "core/schedule/task_share.h"
#include "study/job/job.h"
#include "study/measure/run_capture.h"
#include "traces/record/activity_rows.h"

namespace lanescope::study {

// Says why one of a job's processes cannot capture; empty: all can. All call it. A process without a
// GPU has nothing to capture.
std::string CaptureProblemOfJob(const RunCapture& capture, const Job& job, const Machine& machine);

// One process' part of it. Not thread-safe; what it is made of must outlive it.
class JobCapture {
 public:
  // `share`: of the step, which says whose numbers the rows have. `sink`: of the first process' trace; null
  // in others, and where nothing is written.
  JobCapture(RunCapture* capture, const Job& job, const TaskShare& share, traces::ActivitySink* sink)
      : capture_(*capture), job_(job), share_(share), sink_(sink) {}

  // Brings what all have captured so far to the sink. All call it.
  void Gather();
  // Does that for this process alone: when the others are gone.
  void DeliverOwn();

 private:
  std::string TakeOwn();
  void Deliver(const std::vector<std::string>& of_ranks);

  RunCapture& capture_;
  const Job& job_;
  const TaskShare& share_;
  traces::ActivitySink* const sink_;
};

}  // namespace lanescope::study
