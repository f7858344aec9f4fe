// SPDX-License-Identifier: Apache-2.0
// Two runs named on the command line: FILE[:RUN] FILE[:RUN], or FILE A B.
#pragma once

#include <string>
#include <vector>

#include "core/runs/run_profile.h"
#include "traces/read/trace_reader.h"
#include "traces/report/launch_origins.h"

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
// Two runs whose kernels have the names of the operators that launched them (traces::NameByOperators).
struct ProfiledPair {
  RunProfile a, b;
};
ProfiledPair ReadProfilesByOperators(const RunPair& pair, int step);
// Says that the run's queues are inferred, if they are.
void NoteInferredQueues(const traces::TraceRun& run);

// "run 2 of t.db: dual.pbtxt annotated, simulated".
std::string Describe(const RunReference& reference, const traces::TraceRunInfo& info);

}  // namespace lanescope::cli
