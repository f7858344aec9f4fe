// SPDX-License-Identifier: Apache-2.0
// Files that appear under their names whole or not at all.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace lanescope {

// How to treat a file that is already there under the name.
enum class Existing { kReplace, kRefuse };

class HiddenFile;

// A file in the making. What is written goes to a file without a name, and Commit gives it its name; without
// Commit nothing has happened. Where the file system has no such files, and for libraries that want a path,
// it has a hidden name in the same folder, under which a killed process leaves it until the next one writes
// such a file there. Links are followed to the file they name, which
// keeps its permissions. Pipes, devices and where the standard streams go cannot be replaced: they are
// written to directly, and Commit only tells that everything arrived. Thread-compatible.
//
// Everything here throws one Error: NotFound or FailedPrecondition where nothing can be made, AlreadyExists
// with kRefuse, ResourceExhausted when the disk is full, DataLoss else.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path, Existing existing = Existing::kReplace);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void Write(std::string_view bytes);
  // For libraries that open files themselves. Throws FailedPrecondition for what is written to directly.
  const std::string& temporary_path();
  void Commit();

 private:
  int descriptor() const;
  [[noreturn]] void Fail(int error) const;

  const std::string path_;  // as it was named, for messages
  const Existing existing_;
  const std::string target_;            // where links lead
  std::unique_ptr<HiddenFile> hidden_;  // null: written to directly, or committed
  int descriptor_ = -1;                 // of what is written to directly
};

// The Error for a system call that failed while `path` was written.
[[noreturn]] void FailToWrite(const std::string& path, int error);

}  // namespace lanescope
