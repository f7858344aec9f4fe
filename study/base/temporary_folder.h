// A folder of one's own that disappears with its owner.
#pragma once

#include <string>

namespace lanescope::study {

class TemporaryFolder {
 public:
  // Throws NotFound where the system's folder for temporary files cannot be written to.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace lanescope::study
