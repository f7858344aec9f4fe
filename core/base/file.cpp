// SPDX-License-Identifier: Apache-2.0
#include "core/base/file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/base/output_file.h"

namespace lanescope {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void RefuseLargeFile(const std::string& path, size_t limit) {
  Throw(Code::kInvalidArgument, "'{}' is larger than {} MiB, more than such a file can be", path,
        limit >> 20);
}

}  // namespace

void RefuseEndlessFile(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) Throw(Code::kInvalidArgument, "'{}' is a folder, not a file", path);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_fifo(status)) {
    Throw(Code::kInvalidArgument, "'{}' is a device, not a file", path);
  }
}

std::string ReadFile(const std::string& path, size_t limit) {
  RefuseEndlessFile(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) Throw(Code::kNotFound, "cannot open '{}': {}", path, std::strerror(errno));
  std::error_code error;
  const auto size = fs::file_size(path, error);  // a pipe has none
  if (!error && size > limit) RefuseLargeFile(path, limit);
  std::string bytes;
  if (!error) bytes.reserve(size);
  char chunk[1 << 16];
  while (file.read(chunk, sizeof(chunk)) || file.gcount() > 0) {
    bytes.append(chunk, static_cast<size_t>(file.gcount()));
    if (bytes.size() > limit) RefuseLargeFile(path, limit);
  }
  if (file.bad()) Throw(Code::kDataLoss, "cannot read '{}' to its end", path);
  return bytes;
}

std::optional<std::string> PathWithin(const std::string& folder, const std::string& file) {
  if (file.empty() || file.find('\0') != std::string::npos || fs::path(file).is_absolute())
    return std::nullopt;
  std::error_code error;
  const fs::path root = fs::weakly_canonical(folder.empty() ? "." : folder, error);
  const fs::path path = error ? fs::path() : fs::weakly_canonical(root / file, error);
  const fs::path relative = path.lexically_relative(root);
  if (error || relative.empty() || *relative.begin() == "..") return std::nullopt;
  return path.string();
}

void WriteFile(const std::string& path, std::string_view bytes) {
  OutputFile file(path);
  file.Write(bytes);
  file.Commit();
}

}  // namespace lanescope
