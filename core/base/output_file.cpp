// SPDX-License-Identifier: Apache-2.0
#include "core/base/output_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/base/error.h"
#include "core/base/hidden_file.h"

namespace lanescope {
namespace {

namespace fs = std::filesystem;

// Where a chain of links ends; `path` itself where it leads nowhere.
std::string ResolveLinks(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  return error ? path : target.string();
}

// The standard stream that goes to this file; below 0: none.
int StandardStreamTo(const struct stat& file) {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat there;
    if (fstat(stream, &there) == 0 && there.st_dev == file.st_dev && there.st_ino == file.st_ino)
      return stream;
  }
  return -1;
}

}  // namespace

void FailToWrite(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      Throw(Code::kNotFound, "cannot write '{}': its folder does not exist", path);
    case EACCES:
    case EPERM:
    case EROFS:
      Throw(Code::kFailedPrecondition, "cannot write '{}': the file or its folder may not be written to",
            path);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      Throw(Code::kResourceExhausted,
            "cannot write '{}': the disk is full; free some space or write elsewhere", path);
    case ENAMETOOLONG:
      Throw(Code::kInvalidArgument, "cannot write '{}': the name is too long", path);
    default:
      Throw(Code::kDataLoss, "cannot write '{}': {}", path, std::strerror(error));
  }
}

OutputFile::OutputFile(const std::string& path, Existing existing)
    : path_(path), existing_(existing), target_(ResolveLinks(path)) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0) {
    if (errno != ENOENT) Fail(errno);
    hidden_ = std::make_unique<HiddenFile>(target_, path_, 0666);
    return;
  }
  if (S_ISDIR(file.st_mode)) Throw(Code::kFailedPrecondition, "'{}' is a folder; name a file", path_);
  if (existing_ == Existing::kRefuse) {
    Throw(Code::kAlreadyExists, "'{}' is there already; name a new file", path_);
  }
  if (access(path.c_str(), W_OK) != 0) Fail(errno);
  if (const int stream = StandardStreamTo(file); stream >= 0) {
    // Earlier output comes first, and what follows does not overwrite it.
    if (std::fflush(stdout) != 0) Fail(errno);
    descriptor_ = fcntl(stream, F_DUPFD_CLOEXEC, 0);
  } else if (!S_ISREG(file.st_mode)) {
    descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  } else {
    hidden_ = std::make_unique<HiddenFile>(target_, path_, 0600);
    // Only the owner can hand a file on; where that fails, it is ours.
    const int made = hidden_->descriptor();
    if (fchown(made, file.st_uid, file.st_gid) == 0 || file.st_uid == geteuid())
      fchmod(made, file.st_mode & 0777);
    return;
  }
  if (descriptor_ < 0) Fail(errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

int OutputFile::descriptor() const { return hidden_ ? hidden_->descriptor() : descriptor_; }

void OutputFile::Write(std::string_view bytes) {
  LANESCOPE_CHECK(descriptor() >= 0);
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) Fail(errno);
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
}

const std::string& OutputFile::temporary_path() {
  if (!hidden_) Throw(Code::kFailedPrecondition, "'{}' is a pipe or a device; name a file", path_);
  return hidden_->Path();
}

void OutputFile::Commit() {
  LANESCOPE_CHECK(descriptor() >= 0);
  if (!hidden_) {
    if (close(std::exchange(descriptor_, -1)) != 0) Fail(errno);
    return;
  }
  // EINVAL: the file system has nothing to wait for.
  if (fsync(hidden_->descriptor()) != 0 && errno != EINVAL) Fail(errno);
  if (!hidden_->Become(existing_ == Existing::kReplace))
    Throw(Code::kAlreadyExists, "'{}' is there already; name a new file", path_);
  hidden_.reset();
}

void OutputFile::Fail(int error) const { FailToWrite(path_, error); }

}  // namespace lanescope
