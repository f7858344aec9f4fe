// SPDX-License-Identifier: Apache-2.0
#include "traces/import/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/error.h"

namespace lanescope::traces {
namespace {

int OpenNameless() {
  const char* folder = std::getenv("TMPDIR");
  std::string path = folder == nullptr || *folder == 0 ? "/var/tmp" : folder;
  const int nameless = open(path.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (nameless >= 0) return nameless;
  // Not every file system has them.
  path += "/lanescope-XXXXXX";
  const int descriptor = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) {
    Throw(Code::kResourceExhausted, "no room to sort a large file: {}: {}; set TMPDIR to a folder with room",
          path, std::strerror(errno));
  }
  unlink(path.c_str());
  return descriptor;
}

}  // namespace

NamelessFile::NamelessFile(NamelessFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

NamelessFile& NamelessFile::operator=(NamelessFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

NamelessFile::~NamelessFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void NamelessFile::Append(const void* bytes, size_t size) {
  if (descriptor_ < 0) descriptor_ = OpenNameless();
  for (const char* from = static_cast<const char*>(bytes); size > 0;) {
    const ssize_t written = write(descriptor_, from, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      Throw(Code::kResourceExhausted, "no room to sort a large file: {}; set TMPDIR to a folder with room",
            std::strerror(errno));
    }
    from += written;
    size -= static_cast<size_t>(written);
  }
}

void NamelessFile::Read(int64_t offset, void* bytes, size_t size) const {
  for (char* to = static_cast<char*>(bytes); size > 0;) {
    const ssize_t count = pread(descriptor_, to, size, offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) Throw(Code::kDataLoss, "a temporary file lost what was written to it");
    to += count;
    offset += count;
    size -= static_cast<size_t>(count);
  }
}

}  // namespace lanescope::traces
