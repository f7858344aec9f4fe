// SPDX-License-Identifier: Apache-2.0
// Kernels of two runs under names that both know: those of the operators that launched them.
#pragma once

#include "core/runs/run_diff.h"
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

}  // namespace lanescope::traces
