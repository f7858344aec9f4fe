// SPDX-License-Identifier: Apache-2.0
// Two runs named on the command line: FILE[:RUN] FILE[:RUN], or FILE A B.
#pragma once

#include <string>
#include <vector>

#include "core/runs/run_diff.h"
#include "core/runs/run_profile.h"
#include "traces/read/trace_reader.h"
#include "traces/report/launch_origins.h"
#include "traces/report/operator_identity.h"

namespace lanescope::cli {

struct RunReference {
  std::string path;
  int run = 0;
};

struct RunPair {
  RunReference a, b;
};

// A file that has ":RUN" in its name is that file. Without a run, the file's only one. Throws InvalidArgument
// for a file with several, naming them, and for arguments that fit neither form.
RunPair ParseRunPair(const std::vector<std::string>& arguments);

// FILE[:RUN]. `run`: of an option --run, 0 where it was not given.
RunReference ParseRunReference(const std::string& text, int run = 0);
// Does that where no run means all of them: run 0. Opens nothing. Throws InvalidArgument where `text` names
// another run than `run`.
RunReference ParseRunChoice(const std::string& text, int run);

inline constexpr char kStepHelp[] =
    "Only this step; else the mean of the middle half of all (of all, where there are fewer than four)";

struct ProfiledRun {
  traces::TraceRunInfo info;
  RunProfile profile;
  traces::LaunchOrigins origins;  // where asked for
};
// `step`: over this step alone; -1: over the middle half of the steps. Says where the file does not tell all.
ProfiledRun ReadProfile(const RunReference& reference, int step, bool origins = false);
// Matches two runs that are read (traces::MatchRuns); reads them again where that takes operators, and then
// sets their origins to those of these, where it is asked for any.
traces::MatchedRuns MatchRuns(const RunPair& pair, ProfiledRun* a, ProfiledRun* b, int step,
                              bool origins = false);
// Matches them by operators, whatever that matches.
traces::MatchedRuns MatchByOperators(const RunPair& pair, const RunProfile& a, const RunProfile& b, int step);
// Rows are modules of PyTorch: what was launched in each. Reads both again. Throws FailedPrecondition where
// one names none.
RunDiff DiffByModules(const RunPair& pair, int step);
// How much of the time the two have in common, and by what; nothing where that is all.
void PrintMatched(const traces::MatchedRuns& matched);
// "op", "kernel" or "operator".
std::string MatchedBy(const traces::MatchedRuns& matched);

// "run 2 of t.db: dual.pbtxt annotated, simulated".
std::string Describe(const RunReference& reference, const traces::TraceRunInfo& info);

}  // namespace lanescope::cli
