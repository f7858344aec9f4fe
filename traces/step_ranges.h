// Steps of a trace that records none: NVTX ranges that look like steps. Private to traces/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "traces/sqlite.h"
#include "traces/trace_reader.h"

namespace lanescope {

// Sets the step of every activity and fills `run->steps`, by the launch of the activity: ranges may lie on
// another thread than the launches (autograd has its own). Ranges count as steps when their text is one of
// the words below, or starts with words and ends in one of them and a number ("ProfilerStep#12", "train step
// 3", "iteration_7"); of several kinds the first in this order: "step", "iteration", "iter", "batch".
// Numbered ranges keep their number, unless a process uses one twice; then, and without numbers, they count
// from 0 in the order of time. Does nothing where no range looks like a step.
void FindSteps(TraceRun* run);

// Whether the file has a range that looks like a step, without loading it.
bool HasStepRanges(Database& database);

// Whether a text looks like a step, and its number (-1: none). `rank`: place in the order above.
struct StepText {
  int rank = 0;
  int64_t number = -1;
};
std::optional<StepText> ParseStepText(std::string_view text);

}  // namespace lanescope
