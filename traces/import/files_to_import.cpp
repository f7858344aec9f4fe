// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "traces/import/importer.h"

namespace lanescope::traces {
namespace {

namespace fs = std::filesystem;

// Tools write one recording in several formats: the file that says less, and the one that says more. JAX
// writes what an XPlane says once more for viewers, and rocprofv3 as many formats as it is asked for.
constexpr std::pair<std::string_view, std::string_view> kDoubled[] = {{".trace.json.gz", ".xplane.pb"},
                                                                      {"_results.pftrace", "_results.json"},
                                                                      {"_results.pftrace", "_results.db"},
                                                                      {"_results.json", "_results.db"}};

// JAX's copy for Perfetto is called so, whatever the host's name.
bool IsPerfettoCopy(const std::string& file, const std::set<std::string>& all) {
  const fs::path path(file);
  return path.filename() == "perfetto_trace.json.gz" &&
         std::ranges::any_of(all, [&](const std::string& other) {
           return other != file && fs::path(other).parent_path() == path.parent_path();
         });
}

void DropDoubled(std::vector<std::string>* files) {
  const std::set<std::string> all(files->begin(), files->end());
  std::erase_if(*files, [&](const std::string& file) {
    return IsPerfettoCopy(file, all) || std::ranges::any_of(kDoubled, [&](const auto& doubled) {
             const auto [less, more] = doubled;
             return file.ends_with(less) &&
                    all.contains(file.substr(0, file.size() - less.size()) + std::string(more));
           });
  });
}

// A model, whose assets may be JSON.
bool IsSavedModel(const fs::path& folder) {
  std::error_code unknown;
  return fs::exists(folder / "saved_model.pb", unknown) || fs::exists(folder / "saved_model.pbtxt", unknown);
}

// A folder without traces of its own stands for those in the folders within it: jax.profiler writes
// plugins/profile/DATE/HOST.xplane.pb, rocprofv3 a folder for each host.
void AddTracesIn(const fs::path& folder, int depth, std::vector<std::string>* files) {
  constexpr int kDeepest = 4;
  std::vector<fs::path> folders;
  std::error_code error;
  const size_t before = files->size();
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    if (entry->is_directory(unknown)) {
      if (!entry->is_symlink(unknown)) folders.push_back(entry->path());
      continue;
    }
    const Importer* importer = FindImporterByName(entry->path().string());
    if (importer != nullptr && importer->one_a_rank) files->push_back(entry->path().string());
  }
  if (files->size() > before || depth == kDeepest || IsSavedModel(folder)) return;
  for (const fs::path& inner : folders) AddTracesIn(inner, depth + 1, files);
}

std::vector<std::string> RanksIn(const std::string& folder) {
  std::vector<std::string> files;
  AddTracesIn(folder, 0, &files);
  if (files.empty()) {
    Throw(
        Code::kNotFound,
        "the folder '{}' holds no trace of a profiler (.json, .json.gz, .xplane.pb, .et, .sqlite, .pftrace)",
        folder);
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
