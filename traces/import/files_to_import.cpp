// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "traces/import/importer.h"

namespace lanescope::traces {
namespace {

namespace fs = std::filesystem;

// JAX writes what an XPlane says once more for viewers: HOST.trace.json.gz beside HOST.xplane.pb.
void DropDoubled(std::vector<std::string>* files) {
  constexpr std::string_view kViewed = ".trace.json.gz", kXPlane = ".xplane.pb";
  const std::set<std::string> all(files->begin(), files->end());
  std::erase_if(*files, [&](const std::string& file) {
    return file.ends_with(kViewed) &&
           all.contains(file.substr(0, file.size() - kViewed.size()) + std::string(kXPlane));
  });
}

std::vector<std::string> RanksIn(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const Importer* importer = FindImporter(entry->path().string());
    if (importer != nullptr && importer->one_a_rank) files.push_back(entry->path().string());
  }
  if (files.empty()) {
    Throw(Code::kNotFound,
          "the folder '{}' holds no trace of a profiler (.json, .json.gz, .xplane.pb, .et, .sqlite)", folder);
  }
  DropDoubled(&files);
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::vector<std::string> FilesToImport(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return RanksIn(path);
  const Importer* importer = FindImporter(path);
  if (importer == nullptr || importer->is_trace) return {};
  return {path};
}

}  // namespace lanescope::traces
