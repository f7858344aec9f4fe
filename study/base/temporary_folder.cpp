// SPDX-License-Identifier: Apache-2.0
#include "study/base/temporary_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/base/after_death.h"
#include "core/base/error.h"

namespace lanescope::study {

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  path_ = (std::filesystem::temp_directory_path(error) / "lanescope-XXXXXX").string();
  if (error || mkdtemp(path_.data()) == nullptr) {
    const std::string reason = error ? error.message() : std::strerror(errno);
    const std::string where = error ? "" : " " + path_;
    Throw(Code::kNotFound, "cannot make a temporary folder{}: {}; set TMPDIR to a folder that can be written",
          where, reason);
  }
  guard_ = std::make_unique<AfterDeath>(kRemoveFolder, std::vector{path_});
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace lanescope::study
