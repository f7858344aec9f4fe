// SPDX-License-Identifier: Apache-2.0
// Two runs matched op by op, and where the difference of their step times comes from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/runs/run_profile.h"

namespace lanescope {

// Parts of a mean step (ns): step = compute + transfer + waiting + contention, since each moment of a step is
// on its path once (StepPathFinder). Of the path,
//   waiting     nothing ran;
//   contention  is what the same work (same op, same shapes, same kind of device) took longer than in the
//               other run, as far as other work ran beside it that competes for the same thing (RunProfile);
//   compute     is the rest of the launches;
//   transfer    the rest of the copies and of NCCL's kernels.
struct StepParts {
  double step_ns = 0, compute_ns = 0, transfer_ns = 0, waiting_ns = 0, contention_ns = 0;
};

// One op, or with NVTX ranges what was launched in one. Per mean step (ns).
struct OpDiff {
  enum class Change { kSame, kMoved, kOnlyA, kOnlyB };
  struct Side {
    double count = 0, ns = 0, path_ns = 0, wait_ns = 0;
    double path_count = 0;  // of count, those that were on the path
    std::string name;       // as this run calls it: copies of ranks have other ends
    std::string devices;    // "GPU:0", "GPU:0 GPU:1"
  };
  std::string name;  // OpProfile::name, or the text of the range
  std::string op;    // OpProfile::op; empty: it is a range
  WorkKind kind = WorkKind::kLaunch;
  Change change = Change::kSame;
  Side a, b;
  // The share in the difference of the step times: time on the path and waiting before it.
  double PathChange() const { return b.path_ns + b.wait_ns - a.path_ns - a.wait_ns; }
  // (b - a) / a of the times in a mean step, and of one launch; empty where one run lacks the op.
  std::optional<double> LengthChange() const;
  std::optional<double> LaunchChange() const;
};
std::string_view ChangeName(OpDiff::Change change);  // "same", "moved", "only A", "only B"

struct RunDiff {
  int64_t steps_a = 0, steps_b = 0;  // that the means are taken over
  bool whole = false;                // no steps in one of the runs
  double launches_a = 0, launches_b = 0;
  bool same_work = true;  // both launched the same ops as often
  StepParts parts_a, parts_b;
  StepRange range_a, range_b;
  double end_wait_a_ns = 0, end_wait_b_ns = 0;
  std::vector<OpDiff> ops;  // what changes the step most first
  bool by_ranges = false;
};

// Ops of graphs are matched by the name of their node, kernels by name, device and the how-manyth time they
// run in the step. `by_ranges`: rows are NVTX ranges; matching for contention stays as it is.
RunDiff DiffRuns(const RunProfile& a, const RunProfile& b, bool by_ranges = false);

// One sentence: how much slower b is, and which parts it comes from; or that the steps do not tell
// (CannotTell). Where a run has no steps and the two launched different work, their lengths tell nothing: how
// much longer one launch of the same kernels takes.
std::string DiffVerdict(const RunDiff& diff, std::string_view name_a = "A", std::string_view name_b = "B");

}  // namespace lanescope
