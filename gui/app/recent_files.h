// SPDX-License-Identifier: Apache-2.0
// The files opened last, kept between sessions.
#pragma once

#include <string>
#include <vector>

namespace lanescope::gui {

// $XDG_STATE_HOME/lanescope/recent (~/.local/state without it), one absolute path a line, newest first. Empty
// where there is no home.
std::string RecentFilesPath();
// The recent files that still exist. A file that cannot be read counts as empty.
std::vector<std::string> ReadRecentFiles(const std::string& list);
// Moves `file` to the top. Failing to write is no error: the list is a convenience.
void AddRecentFile(const std::string& list, const std::string& file);

}  // namespace lanescope::gui
