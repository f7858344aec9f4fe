// SPDX-License-Identifier: Apache-2.0
// Where what a window imports lies until it is closed.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "study/base/temporary_folder.h"

namespace lanescope::gui {

// Makes its folder when it is first asked for one. Thread-safe.
class ImportFolder {
 public:
  // An empty folder. Throws NotFound where there is no place for temporary files.
  std::string NewFolder();

 private:
  std::mutex mutex_;
  std::optional<study::TemporaryFolder> folder_;  // guarded by mutex_
  int made_ = 0;                                  // guarded by mutex_
};

}  // namespace lanescope::gui
