// SPDX-License-Identifier: Apache-2.0
#include "gui/document/find_graph.h"

#include <filesystem>

namespace lanescope::gui {

namespace fs = std::filesystem;

std::string FindGraphFile(const std::string& name, const std::string& trace_path,
                          const std::vector<std::string>& folders) {
  // A trace may say anything; only a plain file name is looked for.
  if (name.empty() || name.find('/') != std::string::npos || name == "." || name == "..") return {};
  std::vector<fs::path> places(folders.begin(), folders.end());
  std::error_code error;
  const auto add_with_parents = [&](fs::path folder) {
    for (int i = 0; i < 6 && !folder.empty(); ++i) {
      places.push_back(folder);
      places.push_back(folder / "graphs");
      places.push_back(folder / "samples" / "graphs");
      if (folder == folder.parent_path()) break;
      folder = folder.parent_path();
    }
  };
  if (!trace_path.empty()) add_with_parents(fs::absolute(trace_path, error).parent_path());
  add_with_parents(fs::current_path(error));
  for (const fs::path& place : places) {
    const fs::path candidate = place / name;
    if (fs::is_regular_file(candidate, error)) return candidate.string();
  }
  return {};
}

}  // namespace lanescope::gui
