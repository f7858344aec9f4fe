#include "cli/trace_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "cli/interrupt.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "core/base/error.h"
#include "study/temporary_folder.h"

namespace lanescope::cli {
namespace {

namespace fs = std::filesystem;

// Of folders: the files of a job's ranks, of one format.
bool IsOfARank(const std::string& path) {
  using traces::ImportFormat;
  const ImportFormat format = traces::FormatOf(path);
  return format == ImportFormat::kJson || format == ImportFormat::kXPlane || format == ImportFormat::kChakra;
}

bool HasRanks(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (IsOfARank(entry->path().string())) return true;
  }
  return false;
}

// By name.
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

class ImportedTraces {
 public:
  const std::string& Import(const std::string& path, const std::vector<std::string>& files) {
    const auto [entry, is_new] = imported_.try_emplace(path);
    if (!is_new) return entry->second;
    // Each in a folder of its own: the name is what a timeline shows.
    const fs::path folder = fs::path(folder_.path()) / std::to_string(imported_.size());
    fs::create_directory(folder);
    fs::path name = fs::path(path).filename();
    if (name.empty()) name = "ranks";
    const std::string out = (folder / (name.string() + ".sqlite")).string();
    const traces::ImportCounts counts = ImportWithProgress(files, out);
    PrintNote("{}: {}\n", path, CountsText(counts));
    return entry->second = out;
  }

 private:
  const study::Cancellation::Watch in_order_{&Interruption()};  // a signal leaves nothing behind
  study::TemporaryFolder folder_;
  std::map<std::string, std::string> imported_;
};

}  // namespace

traces::ImportCounts ImportWithProgress(const std::vector<std::string>& files, const std::string& out) {
  constexpr int64_t kAll = 100;
  Progress shown("importing, in percent:", kAll);
  return traces::ImportTraces(files, out, &Interruption().flag(), [&](double fraction) {
    shown.Update(static_cast<int64_t>(fraction * static_cast<double>(kAll)));
  });
}

std::string AsTrace(const std::string& path) {
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  if (!folder && traces::FormatOf(path) == traces::ImportFormat::kNone) return path;
  const std::vector<std::string> files = folder ? RanksIn(path) : std::vector<std::string>{path};
  static ImportedTraces imported;
  return imported.Import(path, files);
}

bool IsTrace(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return HasRanks(path);
  if (traces::FormatOf(path) != traces::ImportFormat::kNone) return true;
  char head[16] = {};
  std::ifstream(path, std::ios::binary).read(head, sizeof(head));
  return std::string_view(head, sizeof(head)).starts_with("SQLite format 3");
}

std::string CountsText(const traces::ImportCounts& counts) {
  std::string text =
      fmt::format("{} kernels, {} copies, {} memory sets, {} API calls, {} ranges", counts.kernels,
                  counts.copies, counts.memsets, counts.api_calls, counts.ranges);
  if (counts.synchronizations > 0) text += fmt::format(", {} synchronisations", counts.synchronizations);
  if (counts.device_ranges > 0) text += fmt::format(", {} annotations on GPUs", counts.device_ranges);
  if (counts.operators > 0) text += fmt::format(", {} operators with shapes or stacks", counts.operators);
  if (counts.collectives > 0) text += fmt::format(", {} collectives with their sizes", counts.collectives);
  if (counts.memory > 0) text += fmt::format(", {} changes of memory", counts.memory);
  std::string left_out;
  if (counts.skipped > 0) left_out = fmt::format("{} without a time or a name", counts.skipped);
  for (const auto& [category, count] : counts.left_out)
    left_out += fmt::format("{}{} {}", left_out.empty() ? "" : ", ", count, category);
  return left_out.empty() ? text : text + "; left out: " + left_out;
}

}  // namespace lanescope::cli
