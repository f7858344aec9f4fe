// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernel_cache.h"

#include <fmt/core.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace lanescope::exec::cuda {
namespace {

constexpr std::string_view kFirstLine = "lanescope kernel 1\n";
constexpr size_t kLongestBinary = size_t{64} << 20;

// Fowler, Noll and Vo's hash, from two beginnings.
uint64_t Hash(std::string_view bytes, uint64_t hash) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

std::string Entry(const std::string& key, const std::string& binary) {
  return fmt::format("{}{} {} {:08x}\n{}{}", kFirstLine, key.size(), binary.size(), Crc32c(binary), key,
                     binary);
}

}  // namespace

std::string KernelCache::FileOf(const std::string& key) const {
  return fmt::format("{}/{:016x}{:016x}.kernel", folder_, Hash(key, 0xcbf29ce484222325),
                     Hash(key, key.size()));
}

std::optional<std::string> KernelCache::Find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  try {
    const std::string entry = ReadFile(FileOf(key), kLongestBinary);
    // Everything before the binary is known but for its length and checksum: what they say is tried.
    const size_t at = entry.find(key, kFirstLine.size());
    if (at == std::string::npos) return std::nullopt;
    std::string binary = entry.substr(at + key.size());
    if (entry == Entry(key, binary)) return binary;
  } catch (const Error&) {
  }
  return std::nullopt;
}

void KernelCache::Keep(const std::string& key, const std::string& binary) const {
  if (folder_.empty()) return;
  try {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    WriteFile(FileOf(key), Entry(key, binary));
  } catch (const Error&) {
  }
}

std::string KernelCacheFolder() {
  const auto set = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  if (const std::string given = set("LANESCOPE_KERNEL_CACHE"); !given.empty()) return given;
  if (const std::string caches = set("XDG_CACHE_HOME"); !caches.empty()) return caches + "/lanescope/kernels";
  const std::string home = set("HOME");
  return home.empty() ? "" : home + "/.cache/lanescope/kernels";
}

}  // namespace lanescope::exec::cuda
