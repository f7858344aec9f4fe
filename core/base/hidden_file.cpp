// SPDX-License-Identifier: Apache-2.0
#include "core/base/hidden_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/base/error.h"
#include "core/base/output_file.h"

namespace lanescope {
namespace {

namespace fs = std::filesystem;

// Writers in one folder at the same time beyond these have names that nobody finds again.
constexpr int kSlots = 16;
// Files that SQLite puts beside a database.
constexpr const char* kEndings[] = {"-wal", "-shm", "-journal"};

std::string FolderOf(const std::string& target) {
  const fs::path folder = fs::path(target).parent_path();
  return folder.empty() ? "." : folder.string();
}

// The length does not depend on the name of the target, which may be as long as names can be.
std::string SlotName(const std::string& target, int slot) {
  std::string number = std::to_string(slot);
  if (slot >= kSlots) {
    uint64_t random[2];
    if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
      Throw(Code::kInternal, "the system gives no random numbers: {}", std::strerror(errno));
    }
    number = fmt::format("{:016x}{:016x}", random[0], random[1]);
  }
  return (fs::path(target).parent_path() / (".lanescope-" + number + ".tmp")).string();
}

std::string PathOf(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

// Whether the name still is that of the open file.
bool IsAt(int descriptor, const std::string& name) {
  struct stat open, there;
  return fstat(descriptor, &open) == 0 && lstat(name.c_str(), &there) == 0 && S_ISREG(open.st_mode) &&
         open.st_dev == there.st_dev && open.st_ino == there.st_ino;
}

// False: somebody else has it, or the file system has no locks.
bool Lock(int descriptor, bool wait) {
  int locked = 0;
  do {
    locked = flock(descriptor, LOCK_EX | (wait ? 0 : LOCK_NB));
  } while (locked != 0 && errno == EINTR);
  return locked == 0;
}

// Removes what killed processes left. Only who has the lock removes, so that nobody else's new file of the
// same name is hit.
void RemoveLeft(const std::string& target) {
  for (int slot = 0; slot < kSlots; ++slot) {
    const std::string name = SlotName(target, slot);
    const int file = open(name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) continue;
    if (Lock(file, false) && IsAt(file, name)) {
      for (const char* ending : kEndings) unlink((name + ending).c_str());
      unlink(name.c_str());
    }
    close(file);
  }
}

}  // namespace

HiddenFile::HiddenFile(const std::string& target, const std::string& shown, unsigned mode, Naming naming)
    : target_(target), shown_(shown) {
  // Without /proc it could not be named later.
  if (naming == Naming::kWhenNeeded && access("/proc/self/fd", X_OK) == 0)
    descriptor_ = open(FolderOf(target).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  if (descriptor_ < 0) OpenNamed(mode);
}

HiddenFile::~HiddenFile() {
  if (!name_.empty()) unlink(name_.c_str());
  Close();
}

void HiddenFile::OpenNamed(unsigned mode) {
  RemoveLeft(target_);
  for (int slot = 0;;) {
    const std::string name = SlotName(target_, slot);
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (file < 0 && errno != EEXIST) Fail(errno);
    if (file < 0) {
      ++slot;
      continue;
    }
    // Until it is locked, another process may take it for left behind. Without locks nobody can.
    if (!Lock(file, true) || IsAt(file, name)) {
      descriptor_ = file;
      name_ = name;
      return;
    }
    close(file);
  }
}

void HiddenFile::Name() {
  RemoveLeft(target_);
  Lock(descriptor_, false);  // nobody else can have it
  for (int slot = 0; name_.empty(); ++slot) {
    const std::string name = SlotName(target_, slot);
    if (linkat(AT_FDCWD, PathOf(descriptor_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      name_ = name;
    } else if (errno != EEXIST) {
      Fail(errno);
    }
  }
}

const std::string& HiddenFile::Path() {
  if (name_.empty()) Name();
  return name_;
}

bool HiddenFile::Become(bool replace) {
  if (name_.empty()) {
    // Links never replace.
    if (linkat(AT_FDCWD, PathOf(descriptor_).c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      Close();
      return true;
    }
    if (errno != EEXIST) Fail(errno);
    if (!replace) return false;
    Name();
  }
  int renamed = renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, target_.c_str(), replace ? 0 : RENAME_NOREPLACE);
  // Not every file system can refuse.
  if (renamed != 0 && errno == EINVAL) renamed = rename(name_.c_str(), target_.c_str());
  if (renamed != 0 && errno == EEXIST && !replace) return false;
  if (renamed != 0) Fail(errno);
  name_.clear();
  Close();
  return true;
}

void HiddenFile::Close() {
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
}

void HiddenFile::Fail(int error) const { FailToWrite(shown_, error); }

}  // namespace lanescope
