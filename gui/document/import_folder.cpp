// SPDX-License-Identifier: Apache-2.0
#include "gui/document/import_folder.h"

#include <filesystem>

namespace lanescope::gui {

std::string ImportFolder::NewFolder() {
  std::lock_guard lock(mutex_);
  if (!folder_) folder_.emplace();
  const std::filesystem::path path = std::filesystem::path(folder_->path()) / std::to_string(++made_);
  std::filesystem::create_directory(path);
  return path.string();
}

}  // namespace lanescope::gui
