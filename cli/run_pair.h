// Two runs named on the command line: FILE[:RUN] FILE[:RUN], or FILE A B.
#pragma once

#include <string>
#include <vector>

#include "traces/run_profile.h"

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

// `step`: over this step alone; -1: over the middle half of the steps.
RunProfile ReadProfile(const RunReference& reference, int step);

// "run 2 of t.db: dual.pbtxt annotated, simulated".
std::string Describe(const RunReference& reference, const TraceRunInfo& info);

}  // namespace lanescope::cli
