// SPDX-License-Identifier: Apache-2.0
// A gate of two commands that are run in turn.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/runs/run_diff.h"
#include "core/runs/run_profile.h"
#include "study/base/cancellation.h"
#include "study/base/notes.h"
#include "study/gate/gate.h"

namespace lanescope::study {

// The text that stands in a command for the trace that it writes.
inline constexpr char kTracePlace[] = "{trace}";

struct MeasuredRun {
  RunSample sample;
  RunProfile profile;
  std::string trace = {};  // that says so; empty: there is none
};

struct CommandRounds {
  std::string base, candidate;  // for /bin/sh
  int rounds = 20;              // at most
  int warmup = 1;               // rounds before that, which do not count
  int64_t time_limit_ns = 0;    // no round begins after that; 0: no limit
  uint64_t seed = 1;            // of the order within each round
  double budget = 0.02;
  std::vector<Quantity> quantities;  // of the traces; commands without one are judged by their wall time
  // Whether a file or folder is a trace: profilers add endings to the name that they are given.
  std::function<bool(const std::string& path)> is_trace;
  // Reads a trace that a command wrote.
  std::function<MeasuredRun(const std::string& trace)> read;
  // Compares the two of one round, whose traces are still there.
  std::function<RunDiff(const MeasuredRun& base, const MeasuredRun& candidate)> diff;
  Cancellation* cancellation = nullptr;
  Notes note;
};

// Which of the two goes first is drawn anew in every round, so that nothing but the commands themselves can
// favour one of them. Ends as soon as it can tell: it looks after some of the rounds (LooksOf), and the error
// that a gate may make is divided among these looks. `samples`, where it is not null, gets the candidate's
// runs. Throws InvalidArgument where one command alone writes a trace, FailedPrecondition where a command
// fails, or writes none or several, what `read` throws, DeadlineExceeded for a command that takes longer than
// the time limit, Cancelled.
GateResult GateCommands(const CommandRounds& rounds, std::vector<RunSample>* samples = nullptr);

}  // namespace lanescope::study
