#include "core/file.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/error.h"

namespace lanescope {
namespace {

// Another writer of the same file, in this process or another one, gets another name.
std::string TemporaryName(const std::string& path) {
  static std::atomic<int> counter{0};
  return fmt::format("{}.{}.{}.tmp", path, getpid(), counter.fetch_add(1));
}

void WriteTemporary(const std::string& temporary, const std::string& path, std::string_view bytes) {
  std::ofstream file(temporary, std::ios::binary);
  if (!file) Throw(Code::kNotFound, "cannot write '{}': {}", path, std::strerror(errno));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) Throw(Code::kDataLoss, "cannot write '{}': {}", path, std::strerror(errno));
}

}  // namespace

std::string ReadFile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    Throw(Code::kInvalidArgument, "'{}' is a folder, not a file", path);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) Throw(Code::kNotFound, "cannot open '{}': {}", path, std::strerror(errno));
  const auto size = std::filesystem::file_size(path, ignored);
  if (!ignored && size > static_cast<uintmax_t>(std::numeric_limits<int>::max())) {
    Throw(Code::kInvalidArgument, "'{}' is larger than 2 GiB", path);
  }
  std::string bytes;
  if (!ignored) bytes.reserve(size);
  char chunk[1 << 16];
  while (file.read(chunk, sizeof(chunk)) || file.gcount() > 0) {
    bytes.append(chunk, static_cast<size_t>(file.gcount()));
    if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
      Throw(Code::kInvalidArgument, "'{}' is larger than 2 GiB", path);
    }
  }
  if (file.bad()) Throw(Code::kDataLoss, "cannot read '{}' to its end", path);
  return bytes;
}

void WriteFile(const std::string& path, std::string_view bytes) {
  const std::string temporary = TemporaryName(path);
  std::error_code error;
  try {
    WriteTemporary(temporary, path, bytes);
    std::filesystem::rename(temporary, path, error);
    if (error) Throw(Code::kDataLoss, "cannot write '{}': {}", path, error.message());
  } catch (...) {
    std::filesystem::remove(temporary, error);
    throw;
  }
}

}  // namespace lanescope
