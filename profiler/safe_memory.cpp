// SPDX-License-Identifier: Apache-2.0
#include "profiler/safe_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace lanescope::profiler {
namespace {

constexpr size_t kPage = 4096;

// True if all of it could be read. The kernel checks the addresses, so a bad one is an error and no signal.
bool CopyFrom(const void* from, void* to, size_t bytes) {
  iovec local{to, bytes}, remote{const_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

bool CanCheck() {
  static const bool can = [] {
    const uint64_t known = 0x6c616e6573636f70;
    uint64_t copy = 0;
    return CopyFrom(&known, &copy, sizeof(known)) && copy == known;
  }();
  return can;
}

}  // namespace

bool ReadText(const char* address, size_t limit, std::string* text) {
  text->clear();
  if (!CanCheck()) {
    text->assign(address, strnlen(address, limit));
    return true;
  }
  char chunk[512];
  auto at = reinterpret_cast<uintptr_t>(address);
  while (text->size() < limit) {
    // Never across the end of a page: the next one may not be there.
    const size_t bytes = std::min({sizeof(chunk), limit - text->size(), kPage - at % kPage});
    if (!CopyFrom(reinterpret_cast<const void*>(at), chunk, bytes)) return false;
    const size_t length = strnlen(chunk, bytes);
    text->append(chunk, length);
    if (length < bytes) return true;
    at += bytes;
  }
  return true;
}

}  // namespace lanescope::profiler
