// Traces as people have them: besides those of lanescope and Nsight Systems, traces of PyTorch's profiler and
// folders of its ranks.
#pragma once

#include <string>

#include "traces/import/kineto_import.h"

namespace lanescope::cli {

// What can be opened in place of `path`: a file (.json, .json.gz) or folder of PyTorch's profiler is imported
// once, into a file that goes with the program, and told on standard error; anything else is itself. Throws
// what ImportKineto throws, NotFound for a folder without such files, Cancelled. Of one thread.
std::string AsTrace(const std::string& path);

// Whether the file or folder looks like a trace, of anyone's; else it may be a graph.
bool IsTrace(const std::string& path);

// "555 kernels, 32 copies, ...; left out: 41 cuda_sync".
std::string CountsText(const traces::ImportCounts& counts);

}  // namespace lanescope::cli
