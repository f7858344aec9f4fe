// SPDX-License-Identifier: Apache-2.0
// A folder for the files of a benchmark, which goes when the program ends.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace lanescope::bench {

inline const std::filesystem::path& ScratchFolder() {
  struct Scratch {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("lanescope_bench_" + std::to_string(::getpid()));
    Scratch() { std::filesystem::create_directories(path); }
    ~Scratch() {
      std::error_code error;
      std::filesystem::remove_all(path, error);
    }
  };
  static const Scratch scratch;
  return scratch.path;
}

}  // namespace lanescope::bench
