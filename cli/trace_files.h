// SPDX-License-Identifier: Apache-2.0
// Traces as people have them: besides those of lanescope and Nsight Systems, those that ImportTraces knows,
// and folders of a job's ranks.
#pragma once

#include <string>
#include <vector>

#include "traces/import/import.h"

namespace lanescope::cli {

// A file that can be opened in place of `path`: a file or folder of another profiler is imported once, into a
// file that goes with the program, and told on standard error; anything else is itself. Throws what
// ImportTraces throws, NotFound for a folder without such files, Cancelled. Of one thread.
std::string AsTrace(const std::string& path);

// ImportTraces, how far it has come told on standard error, and ended by Ctrl-C.
traces::ImportCounts ImportWithProgress(const std::vector<std::string>& files, const std::string& out,
                                        const std::vector<std::string>& captures = {});

// Whether the file or folder looks like a trace, of anyone's; else it may be a graph.
bool IsTrace(const std::string& path);

}  // namespace lanescope::cli
