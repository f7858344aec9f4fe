// SPDX-License-Identifier: Apache-2.0
// A folder of one's own that disappears with its owner, also where that is killed.
#pragma once

#include <memory>
#include <string>

namespace lanescope {
class AfterDeath;
}  // namespace lanescope

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
  std::unique_ptr<AfterDeath> guard_;
};

}  // namespace lanescope::study
