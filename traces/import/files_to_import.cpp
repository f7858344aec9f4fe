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

// Traces of a folder, and files that are called like some but are none that can be read: databases that no
// importer knows, which may be damaged, and links that lead nowhere, pipes and devices.
struct FoundFiles {
  std::vector<std::string> traces, others;
};

// Hidden files are those that are being written.
bool IsCalledLikeADatabase(const fs::path& path) {
  return !path.filename().string().starts_with('.') &&
         (path.extension() == ".sqlite" || path.extension() == ".db");
}

void AddFile(const fs::directory_entry& entry, FoundFiles* found) {
  const std::string path = entry.path().string();
  const Importer* importer = FindImporterByName(path);
  const bool is_trace = importer != nullptr && importer->one_a_rank;
  std::error_code unknown;
  if (is_trace && entry.is_regular_file(unknown)) {
    found->traces.push_back(path);
  } else if (is_trace || (importer == nullptr && IsCalledLikeADatabase(entry.path()))) {
    found->others.push_back(path);
  }
}

// A folder without traces of its own stands for those in the folders within it: jax.profiler writes
// plugins/profile/DATE/HOST.xplane.pb, rocprofv3 a folder for each host.
void AddTracesIn(const fs::path& folder, int depth, FoundFiles* files) {
  constexpr int kDeepest = 4;
  std::vector<fs::path> folders;
  std::error_code error;
  const size_t before = files->traces.size();
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    if (entry->is_directory(unknown)) {
      if (!entry->is_symlink(unknown)) folders.push_back(entry->path());
      continue;
    }
    AddFile(*entry, files);
  }
  if (files->traces.size() > before || depth == kDeepest || IsSavedModel(folder)) return;
  for (const fs::path& inner : folders) AddTracesIn(inner, depth + 1, files);
}

std::vector<std::string> RanksIn(const std::string& folder) {
  FoundFiles found;
  AddTracesIn(folder, 0, &found);
  std::vector<std::string> files = std::move(found.traces);
  if (files.empty()) {
    for (const std::string& other : found.others) RefuseDamaged(other);
    Throw(
        Code::kNotFound,
        "the folder '{}' holds no trace of a profiler (.json, .json.gz, .xplane.pb, .et, .sqlite, .pftrace)",
        folder);
  }
  DropDoubled(&files);
  files.insert(files.end(), found.others.begin(), found.others.end());
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::vector<std::string> FilesToImport(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return RanksIn(path);
  if (fs::is_fifo(fs::status(path, error)))
    Throw(Code::kFailedPrecondition, "'{}' is a pipe, not a file; `lanescope import` reads one", path);
  const Importer* importer = FindImporter(path);
  if (importer == nullptr || importer->is_trace) return {};
  return {path};
}

}  // namespace lanescope::traces
