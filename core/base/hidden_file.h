// SPDX-License-Identifier: Apache-2.0
// A file in the making, which nobody sees until it is whole. Internal to core/base.
#pragma once

#include <string>

namespace lanescope {

// Without a name where the file system can make such files (O_TMPFILE): then nothing is left of it when this
// process is killed. Elsewhere, and once somebody asks for its path, it is one of a few names in the folder
// of its target. A lock (flock) says that its writer lives; a file of these names without one was left by a
// killed process, and goes when the next one is named in the folder. Thread-compatible.
class HiddenFile {
 public:
  enum class Naming { kWhenNeeded, kAtOnce };

  // To write only. Throws FailToWrite's error, which says `shown`.
  HiddenFile(const std::string& target, const std::string& shown, unsigned mode,
             Naming naming = Naming::kWhenNeeded);
  // Removes the file unless it became the target.
  ~HiddenFile();
  HiddenFile(const HiddenFile&) = delete;
  HiddenFile& operator=(const HiddenFile&) = delete;

  int descriptor() const { return descriptor_; }
  // Gives it a name. Libraries may leave files beside it with their own endings after that.
  const std::string& Path();
  // Gives it the name of its target, and closes it. False: `replace` is not allowed, and there is one.
  bool Become(bool replace);

 private:
  void OpenNamed(unsigned mode);
  void Name();
  void Close();
  [[noreturn]] void Fail(int error) const;

  const std::string target_, shown_;
  std::string name_;  // empty: none
  int descriptor_ = -1;
};

}  // namespace lanescope
