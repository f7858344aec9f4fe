// SPDX-License-Identifier: Apache-2.0
// The file of a run's graph.
#pragma once

#include <string>
#include <vector>

namespace lanescope::gui {

// Where a graph of that file name may be: the trace's folder and its parents, the working directory, each
// with its `graphs` and `samples/graphs`, and `folders`. Empty: nowhere.
std::string FindGraphFile(const std::string& name, const std::string& trace_path,
                          const std::vector<std::string>& folders);

}  // namespace lanescope::gui
