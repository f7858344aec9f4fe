// SPDX-License-Identifier: Apache-2.0
// Kernels of two runs under names that both know: those of the operators that launched them.
#pragma once

#include <functional>
#include <utility>

#include "core/runs/run_diff.h"
#include "core/runs/run_profile.h"
#include "traces/read/trace_reader.h"

namespace lanescope::traces {

// Kernels of two GPUs, or of two compilers, have other names where the operators that launch them are the
// same. Each launch is renamed after the first of these that launches in the other run, too: the operators
// around it, the outermost first, with their shapes; the same without shapes; the modules around it, the
// innermost first. What has none of them keeps its name. Launches of a graph's nodes are not touched, nor are
// copies and memory sets, whose names everybody shares.
void NameByOperators(TraceRun* a, TraceRun* b);

// The share of the time of both runs' ops that ran in both, 0 to 1.
double MatchedShare(const RunDiff& diff);

// Two runs, op by op.
struct MatchedRuns {
  RunDiff diff;
  bool of_kernels = false;      // else of the nodes of graphs
  bool by_operators = false;    // kernels by the operators that launched them
  double share = 0;             // of the time, of what ran in both
  double share_of_kernels = 0;  // the same by the names of nodes and kernels
};
// Both runs with their kernels named by NameByOperators.
using ProfilesByOperators = std::function<std::pair<RunProfile, RunProfile>()>;
// Nodes by their names, and so kernels; kernels by operators where their own names match less than half of
// the time, and operators match more. `by_operators` is not asked before.
MatchedRuns MatchRuns(const RunProfile& a, const RunProfile& b, const ProfilesByOperators& by_operators);
// Kernels by operators, however much of the time that matches.
MatchedRuns MatchByOperators(const RunProfile& a, const RunProfile& b,
                             const ProfilesByOperators& by_operators);

}  // namespace lanescope::traces
