// Files that appear under their names whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace lanescope {

// What is already there under the name.
enum class Existing { kReplace, kRefuse };

// A file in the making. What is written goes to a file beside `path` whose name nobody can guess, and Commit
// gives it its name; without Commit nothing has happened. Links are followed to the file they name, which
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
  const std::string& temporary_path() const;
  void Commit();

 private:
  void OpenTemporary(int mode);
  [[noreturn]] void Fail(int error) const;

  const std::string path_;  // as it was named, for messages
  const Existing existing_;
  std::string target_;     // where links lead
  std::string temporary_;  // empty: written to directly, or committed
  int descriptor_ = -1;
};

// The Error for a system call that failed while `path` was written.
[[noreturn]] void FailToWrite(const std::string& path, int error);

}  // namespace lanescope
