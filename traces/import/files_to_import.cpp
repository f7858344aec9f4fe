#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "traces/import/import.h"

namespace lanescope::traces {
namespace {

namespace fs = std::filesystem;

// Profilers write one such file for each rank.
bool IsOfARank(const std::string& path) {
  const ImportFormat format = FormatOf(path);
  return format == ImportFormat::kJson || format == ImportFormat::kXPlane || format == ImportFormat::kChakra;
}

std::vector<std::string> RanksIn(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (IsOfARank(entry->path().string())) files.push_back(entry->path().string());
  }
  if (files.empty()) {
    Throw(Code::kNotFound, "the folder '{}' holds no trace of a profiler (.json, .json.gz, .xplane.pb, .et)",
          folder);
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::vector<std::string> FilesToImport(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return RanksIn(path);
  if (FormatOf(path) == ImportFormat::kNone) return {};
  return {path};
}

}  // namespace lanescope::traces
