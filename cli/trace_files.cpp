// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_files.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "cli/interrupt.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "core/base/error.h"
#include "study/base/temporary_folder.h"

namespace lanescope::cli {
namespace {

namespace fs = std::filesystem;

bool HasRanks(const std::string& folder) {
  try {
    return !traces::FilesToImport(folder).empty();
  } catch (const Error& error) {
    return error.code() != Code::kNotFound;  // damaged ones are said to be when they are read
  }
}

class ImportedTraces {
 public:
  const std::string& Import(const std::string& path) {
    const auto [entry, is_new] = imported_.try_emplace(path);
    if (!is_new) return entry->second;
    const std::string out =
        (fs::path(folder_.path()) / (std::to_string(imported_.size()) + ".sqlite")).string();
    const traces::ImportCounts counts = ImportWithProgress({path}, out);
    PrintNote("{}: {}\n", path, traces::ImportText(counts));
    return entry->second = out;
  }

 private:
  const study::Cancellation::Watch in_order_{&Interruption()};  // a signal leaves nothing behind
  study::TemporaryFolder folder_;
  std::map<std::string, std::string> imported_;
};

}  // namespace

traces::ImportCounts ImportWithProgress(const std::vector<std::string>& files, const std::string& out,
                                        const std::vector<std::string>& captures) {
  constexpr int64_t kAll = 100;
  Progress shown("importing, in percent:", kAll);
  const auto progress = [&](double fraction) {
    shown.Update(static_cast<int64_t>(fraction * static_cast<double>(kAll)));
  };
  return traces::ImportTraces(files, out, &Interruption().flag(), progress, captures);
}

std::string AsTrace(const std::string& path) {
  if (traces::FilesToImport(path).empty()) return path;
  static ImportedTraces imported;
  return imported.Import(path);
}

bool IsTrace(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return HasRanks(path);
  if (!traces::FormatOf(path).empty()) return true;
  char head[16] = {};
  std::ifstream(path, std::ios::binary).read(head, sizeof(head));
  return std::string_view(head, sizeof(head)).starts_with("SQLite format 3");
}

}  // namespace lanescope::cli
