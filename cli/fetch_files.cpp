// SPDX-License-Identifier: Apache-2.0
#include "cli/fetch_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/inputs/run_spec.h"

namespace lanescope::cli {
namespace {

bool StaysInFileNames(char c) {
  return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
}

std::string FileNameOf(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !StaysInFileNames(c); }, '_');
  return name;
}

std::string StepFile(int64_t step, const std::string& file) {
  return fmt::format("step{:06}_{}.npy", step, file);
}

// Only the file system knows what it takes.
void TryToWrite(const std::string& folder, const std::string& file, const std::string& fetch) {
  // No file of the run; longer, as a file's name is until it is complete.
  const std::string probe = folder + "/" + file + ".probe";
  try {
    WriteFile(probe, "");
  } catch (const Error& error) {
    Throw(error.code(), "--save-fetches: no file can be made for '{}': {}", fetch, error.message());
  }
  std::error_code ignored;
  std::filesystem::remove(probe, ignored);
}

}  // namespace

FetchFiles::FetchFiles(std::string folder, const std::vector<std::string>& names, int64_t last_step)
    : folder_(std::move(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) Throw(Code::kNotFound, "cannot make the folder '{}': {}", folder_, error.message());
  std::map<std::string, std::string> taken;
  for (const std::string& name : names) {
    const std::string& file = files_.emplace_back(FileNameOf(name));
    const auto [other, is_new] = taken.try_emplace(file, name);
    if (!is_new && other->second != name) {
      Throw(Code::kInvalidArgument,
            "--save-fetches: '{}' and '{}' would share the file {}; fetch one of them in a run of its own",
            other->second, name, StepFile(last_step, file));
    }
  }
  for (size_t i = 0; i < names.size(); ++i) TryToWrite(folder_, StepFile(last_step, files_[i]), names[i]);
}

void FetchFiles::Save(int64_t step, const std::vector<Tensor>& fetches) const {
  for (size_t i = 0; i < fetches.size(); ++i) WriteNpy(fetches[i], folder_ + "/" + StepFile(step, files_[i]));
}

}  // namespace lanescope::cli
