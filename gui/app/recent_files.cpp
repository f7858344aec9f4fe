// SPDX-License-Identifier: Apache-2.0
#include "gui/app/recent_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/base/file.h"

namespace lanescope::gui {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 12;
constexpr size_t kMaxLine = 4096;

}  // namespace

std::string RecentFilesPath() {
  const char* state = std::getenv("XDG_STATE_HOME");
  // The specification ignores relative paths.
  if (state != nullptr && state[0] == '/') return std::string(state) + "/lanescope/recent";
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.local/state/lanescope/recent" : "";
}

std::vector<std::string> ReadRecentFiles(const std::string& list) {
  std::vector<std::string> files;
  std::ifstream in(list);
  std::string line;
  while (files.size() < kMaxFiles && std::getline(in, line)) {
    std::error_code error;
    if (!line.empty() && line.size() <= kMaxLine && fs::exists(line, error)) files.push_back(line);
  }
  return files;
}

void AddRecentFile(const std::string& list, const std::string& file) {
  if (list.empty()) return;
  std::error_code error;
  const std::string path = fs::absolute(file, error).lexically_normal().string();
  if (error || path.find('\n') != std::string::npos) return;
  std::vector<std::string> files = ReadRecentFiles(list);
  std::erase(files, path);
  files.insert(files.begin(), path);
  if (files.size() > kMaxFiles) files.resize(kMaxFiles);
  fs::create_directories(fs::path(list).parent_path(), error);
  std::string text;
  for (const std::string& each : files) text += each + '\n';
  try {
    WriteFile(list, text);
  } catch (const Error&) {
    // The list is a convenience.
  }
}

}  // namespace lanescope::gui
