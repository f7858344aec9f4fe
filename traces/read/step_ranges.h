// SPDX-License-Identifier: Apache-2.0
// Steps of a trace that records none: NVTX ranges that look like steps. Internal to traces and gui.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "traces/read/launch_links.h"
#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"
#include "traces/store/step_text.h"

namespace lanescope::traces {

// Where steps begin and end. A host may run ahead and issue a step while the devices still run the one
// before, so what was launched in two steps may overlap; their windows do not: a step lasts from the first
// activity that was launched in it to the first of the next one. Where work of no step begins between its
// last activity and the next step, it ends with its last activity. Ranks' steps of one number are one step of
// the job.
class StepWindows {
 public:
  // An activity that was launched in `step`; -1: in none.
  void Add(int step, int64_t start_ns, int64_t end_ns);
  // No step goes on beyond this.
  void Interrupt(int64_t time_ns) { outside_.push_back(time_ns); }
  // By start; they do not overlap.
  std::vector<TraceStep> Steps() const;
  // The time when the last activity of a step ended that was added.
  int64_t EndOf(int step) const { return activities_.at(step).end_ns; }
  // Nothing was added.
  bool empty() const { return empty_; }

 private:
  std::map<int, TraceStep> activities_;  // by number: from the first start to the last end
  bool empty_ = true;
  std::vector<int64_t> outside_;  // starts of what belongs to no step
};

// The step of what has no correlation id, until all others are known (ResolveSteps).
inline constexpr int kStepOfNeighbours = -2;

// The ranges of a run that are its steps, and which of them an activity was launched in: of those of the
// launching thread, else of its process, since they may lie on another thread (autograd has its own). Ranges
// count as steps when their text does (ParseStepText); of several words the first in its order. Numbered
// ranges keep their number, unless a process uses one twice; then, and without numbers, they count from 0 in
// the order of time. Ranges of libraries are no steps of the program. Thread-compatible.
class RangeSteps {
 public:
  // From the ranges and API calls of a run, or of its outline.
  explicit RangeSteps(const TraceRun& run);
  // No range looks like a step.
  bool empty() const { return ranges_.empty(); }
  // -1: in none.
  int OfCall(int api_call) const { return calls_[static_cast<size_t>(api_call)]; }
  // The step of work that began at `start_ns`, by its launching call; without a call in a trace that has
  // some it was launched before the trace began. kStepOfNeighbours for what has no correlation id.
  int OfActivity(int64_t global_pid, int64_t correlation, int64_t start_ns) const {
    if (correlation <= 0) return kStepOfNeighbours;
    return OfLaunch(index_.Find(global_pid, correlation, start_ns), global_pid, start_ns);
  }
  // The step where the call is known; -1: there is none.
  int OfLaunch(int api_call, int64_t global_pid, int64_t start_ns) const;
  // The range of the process that contains `time`, the last that started no later; -1: none.
  int AtTime(int64_t global_pid, int64_t time) const;
  // Windows that know where recording was interrupted, with nothing in them.
  StepWindows Windows() const;
  // The steps of these windows, or where nothing ran on any device those of the ranges.
  std::vector<TraceStep> StepsOf(const StepWindows& windows) const;
  // Ranges in which nothing was launched that ran, by number.
  std::vector<int> WithoutWork(const std::vector<TraceStep>& steps) const;

 private:
  struct Range {
    int64_t start_ns = 0, end_ns = 0;
    int64_t number = -1;
    int64_t global_tid = 0;
    StepWork work;
  };
  void CollectRanges(const TraceRun& run);
  static int At(const std::vector<Range>& ranges, int64_t time);
  std::vector<TraceStep> WithWork(std::vector<TraceStep> steps) const;

  std::map<int64_t, std::vector<Range>> ranges_;      // by process, by start
  std::map<int64_t, std::vector<Range>> of_threads_;  // the same by thread
  std::vector<int> calls_;                            // step by API call
  std::vector<int64_t> interrupted_;                  // where spans of the recording meet
  ApiCallIndex index_;
};

// An activity in its step, or kStepOfNeighbours.
struct StepPlace {
  int device = 0, stream = 0;
  int64_t start_ns = 0;
  int step = -1;
};
// Sets those that are kStepOfNeighbours, where anything else ran on their device: to the step of what ran on
// their stream before and after them, where both are of one; else of what began last before them on their
// device, or first after them.
void ResolveSteps(std::vector<StepPlace>* places);

// Throws NotFound where the run does not have the step, FailedPrecondition where it has none at all.
void CheckStep(const TraceRun& run, int number);

// Whether the file has a range that looks like a step, without loading it.
bool HasStepRanges(Database& database);

}  // namespace lanescope::traces
