// How fast a driver that issues ahead feeds an in-order queue, from when the queue's commands began.
#pragma once

#include <cstdint>
#include <vector>

namespace lanescope::sims {

// One command of one measured step. Times in ns from the step's beginning.
struct IssueSample {
  int number = 1;  // of its queue's commands in the step, from 1
  int64_t start_ns = 0;
  int64_t previous_end_ns = -1;  // of the command before it on the queue; -1: it is the first
  int64_t ready_ns = 0;          // when its last dependency had ended
};

struct IssueFit {
  int64_t gap_ns = 0;
  int64_t issue_ns = 0;  // 0: the queue never waited for its driver
};

// The pair for which the starts are nearest, by the sum of absolute differences, to what Delays says:
//   max(end of the previous command + gap, ready, number * issue).
// Where durations vary, the two differ: a queue that keeps up with its driver begins a gap after an end,
// however long the command was; one that waits for it begins at even distances, however short they were.
// Equal fits take the smaller issue. Empty input: zeros.
IssueFit FitIssue(const std::vector<IssueSample>& samples);

}  // namespace lanescope::sims
