// Two runs beside each other, op by op, and where the difference of their step times comes from.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/run_data.h"
#include "gui/timeline_data.h"

namespace lanescope::gui {

// A step's time in four parts that add up to it, along its critical path: as lanescope::StepParts
// (traces/run_diff.h), which it is made from.
struct StepParts {
  double compute_ns = 0, transfer_ns = 0, waiting_ns = 0, contention_ns = 0;
  double step_ns() const { return compute_ns + transfer_ns + waiting_ns + contention_ns; }
};
StepParts operator-(const StepParts& a, const StepParts& b);

struct DiffRow {
  std::string name, op;
  int a_op = -1, b_op = -1;             // indexes into the runs' ops; -1: the run lacks it
  std::string a_devices, b_devices;     // where its launches ran: "GPU:0"
  double a_count = 0, b_count = 0;      // launches a step (in all, without steps)
  double a_ns = 0, b_ns = 0;            // launch time a step
  double a_copy_ns = 0, b_copy_ns = 0;  // time a step of copies of its outputs
  // Of a launch: (b - a) / a of the mean times; empty where one run lacks it.
  std::optional<double> error;
  double delta_ns() const { return b_ns + b_copy_ns - a_ns - a_copy_ns; }
};

// b against a: `delta` = b - a.
struct RunDiff {
  RunKey a = 0, b = 0;
  bool measured_against_predicted = false;  // a measured, b predicted, of one graph and strategy
  std::vector<DiffRow> rows;                // largest absolute delta first
  int64_t a_step_ns = 0, b_step_ns = 0;
  // The parts of the median steps; empty with `parts_problem` where one run has no dependencies.
  std::optional<StepParts> a_parts, b_parts;
  std::string parts_problem;
  std::string verdict;  // one sentence
};

struct DiffRequest {
  RunKey a = 0, b = 0;
  std::shared_ptr<const RunData> a_run, b_run;
};
// A pass over all slices of both runs: use it with LatestWorker<DiffRequest, RunDiff>. Ends early with an
// incomplete result when cancelled.
RunDiff ComputeDiff(const DiffRequest& request, const std::atomic<bool>& cancelled);

// The predicted (or measured) run that belongs to a measured (predicted) one: same graph and strategy, same
// file if there is one. 0: none.
RunKey CounterpartOf(const Timeline& timeline, RunKey run);

// By index into run.ops: DrawOptions' key of ColorMode::kError for how far the other run of the diff is off.
std::vector<uint8_t> ErrorKeys(const RunData& run, const RunDiff& diff, bool run_is_a);

struct MemoryVerdict {
  std::string device;
  int64_t peak_bytes = 0, limit_bytes = 0;  // 0: unknown
  enum class Answer : uint8_t {
    kUnknown,
    kFits,
    kTight,
    kTooLarge
  } answer = Answer::kUnknown;  // kTight: over 90%
  std::string text;             // "GPU:0: 9.1 GiB of 11 GiB, 1.9 GiB free"
};
std::vector<MemoryVerdict> MemoryVerdicts(const RunData& run);

}  // namespace lanescope::gui
