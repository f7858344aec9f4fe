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

// The ranges of a run that are its steps, and which of them an activity was launched in: of those of the
// launching thread, else of its process, since they may lie on another thread (autograd has its own). Ranges
// count as steps when their text does (ParseStepText); of several words the first in its order. Numbered
// ranges keep their number, unless a process uses one twice; then, and without numbers, they count from 0 in
// the order of time. Thread-compatible.
class RangeSteps {
 public:
  // From the ranges and API calls of a run, or of its outline.
  explicit RangeSteps(const TraceRun& run);
  // No range looks like a step.
  bool empty() const { return ranges_.empty(); }
  // -1: in none.
  int OfCall(int api_call) const { return calls_[static_cast<size_t>(api_call)]; }
  // Of what began at `start_ns` and was launched by the call of this correlation; without a call in a trace
  // that has some it was launched before the trace began.
  int OfActivity(int64_t global_pid, int64_t correlation, int64_t start_ns) const {
    return OfLaunch(index_.Find(global_pid, correlation, start_ns), global_pid, start_ns);
  }
  // The same where the call is known; -1: there is none.
  int OfLaunch(int api_call, int64_t global_pid, int64_t start_ns) const;

 private:
  struct Range {
    int64_t start_ns = 0, end_ns = 0;
    int64_t number = -1;
    int64_t global_tid = 0;
  };
  void CollectRanges(const TraceRun& run);
  int At(int64_t global_pid, int64_t time) const;
  static int At(const std::vector<Range>& ranges, int64_t time);

  std::map<int64_t, std::vector<Range>> ranges_;      // by process, by start
  std::map<int64_t, std::vector<Range>> of_threads_;  // the same by thread
  std::vector<int> calls_;                            // step by API call
  ApiCallIndex index_;
};

// Where steps begin and end. A host may run ahead and issue a step while the devices still run the one
// before, so what was launched in two steps may overlap; their windows do not: a step lasts from the first
// activity that was launched in it to the first of the next one. Where work of no step begins between its
// last activity and the next step, it ends with its last activity. Ranks' steps of one number are one step of
// the job.
class StepWindows {
 public:
  // An activity that was launched in `step`; -1: in none.
  void Add(int step, int64_t start_ns, int64_t end_ns);
  // By start; they do not overlap.
  std::vector<TraceStep> Steps() const;

 private:
  std::map<int, TraceStep> activities_;  // by number: from the first start to the last end
  std::vector<int64_t> outside_;         // starts of what belongs to no step
};

// Throws NotFound where the run does not have the step, FailedPrecondition where it has none at all.
void CheckStep(const TraceRun& run, int number);

// Whether the file has a range that looks like a step, without loading it.
bool HasStepRanges(Database& database);

}  // namespace lanescope::traces
