// SPDX-License-Identifier: Apache-2.0
// The comparison that comes with the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lanescope::gui {

// Traces in the folder samples/traces of the working directory, beside the program, or where the program is
// installed.
std::vector<std::string> SampleTraces();
// Folders of sample graphs, at the same places.
std::vector<std::string> SampleGraphFolders();
// Makes such a trace.
std::string_view SampleCommand();

}  // namespace lanescope::gui
