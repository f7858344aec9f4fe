// SPDX-License-Identifier: Apache-2.0
// A folder of this process for the files that targets need, in memory where the system has such a place; it
// goes with the process. A crash leaves it.
#pragma once

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace lanescope {

class ScratchFolder {
 public:
  ScratchFolder() {
    const bool in_memory = std::filesystem::is_directory("/dev/shm");
    std::string name =
        ((in_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path()) /
         "lanescope-fuzz-XXXXXX")
            .string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string File(const std::string& name) const { return (path_ / name).string(); }
  // Returns the path.
  std::string Write(const std::string& name, std::string_view bytes) const {
    std::ofstream(File(name), std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return File(name);
  }
  bool IsEmpty() const { return std::filesystem::is_empty(path_); }
  void Clear() const {
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      std::filesystem::remove_all(entry.path());
  }

 private:
  std::filesystem::path path_;
};

}  // namespace lanescope
