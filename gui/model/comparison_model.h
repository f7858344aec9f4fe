// SPDX-License-Identifier: Apache-2.0
// Two runs beside each other, and whether they fit into memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/runs/run_diff.h"
#include "gui/model/run_data.h"
#include "gui/model/timeline_data.h"

namespace lanescope::gui {

// b against a, as `lanescope diff` has it.
struct ShownDiff {
  RunKey a = 0, b = 0;
  bool measured_against_predicted = false;  // a measured, b predicted, of one graph and strategy
  std::string problem;                      // why there is no diff; empty: there is one
  RunDiff diff;
  std::string verdict;  // one sentence
};

struct DiffRequest {
  RunKey a = 0, b = 0;
  std::shared_ptr<const RunData> a_run, b_run;
};
// A pass over all slices of both runs: use it with LatestWorker<DiffRequest, ShownDiff>. Ends early with a
// problem when cancelled.
ShownDiff ComputeDiff(const DiffRequest& request, const std::atomic<bool>& cancelled);

// The runs that a user has chosen to compare, 0: none yet.
struct DiffChoice {
  RunKey a = 0, b = 0, selected = 0;
  std::set<RunKey> hidden{};
};
// The two runs to compare: those chosen, else of those that are shown the baseline and the selected one, else
// the first two. Hidden ones where fewer are shown; (0, 0) for less than two runs.
std::pair<RunKey, RunKey> RunsToCompare(const Timeline& timeline, const DiffChoice& choice);

// The predicted (or measured) run that belongs to a measured (predicted) one: same graph and strategy, same
// file if there is one. 0: none.
RunKey CounterpartOf(const Timeline& timeline, RunKey run);

// By index into run.ops: DrawOptions' key of ColorMode::kError for how far the other run of the diff is off.
std::vector<uint8_t> ErrorKeys(const RunData& run, const ShownDiff& diff);

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
