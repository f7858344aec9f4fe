// SPDX-License-Identifier: Apache-2.0
#include "gui/app/samples.h"

#include <algorithm>
#include <filesystem>

namespace lanescope::gui {
namespace {

namespace fs = std::filesystem;

// Folders that may hold samples/`name`: the working directory, and those around the program.
std::vector<fs::path> Places(const char* name) {
  std::error_code error;
  std::vector<fs::path> places = {fs::current_path(error) / "samples" / name};
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (int up = 0; up < 4 && !folder.empty(); ++up) {
    places.push_back(folder / "samples" / name);
    places.push_back(folder / "share" / "lanescope" / "samples" / name);
    folder = folder.parent_path();
  }
  return places;
}

}  // namespace

std::vector<std::string> SampleTraces() {
  std::vector<std::string> traces;
  for (const fs::path& place : Places("traces")) {
    std::error_code error;
    for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->path().extension() == ".db") traces.push_back(entry->path().string());
    }
    if (!traces.empty()) break;
  }
  std::sort(traces.begin(), traces.end());
  return traces;
}

std::vector<std::string> SampleGraphFolders() {
  std::vector<std::string> folders;
  for (const fs::path& place : Places("graphs")) {
    std::error_code error;
    if (fs::is_directory(place, error)) folders.push_back(place.string());
  }
  return folders;
}

std::string_view SampleCommand() {
  return "lanescope compare samples/graphs/deepconn_dual.pbtxt --strategies single,tower-split,alternating "
         "--trace compare.db";
}

}  // namespace lanescope::gui
