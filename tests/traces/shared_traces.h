// SPDX-License-Identifier: Apache-2.0
// Real traces that are no part of the repository: folders `traces/nsys` and `traces/kineto` under
// $LANESCOPE_SHARED, or under
// ../shared beside the source tree. Tests that need one skip visibly where it is absent.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/paths.h"

namespace lanescope::traces {

// Empty when the file is not there.
inline std::string SharedTrace(const std::string& folder_of_kind, const std::string& name) {
  const char* folder = std::getenv("LANESCOPE_SHARED");
  const std::filesystem::path base =
      folder != nullptr ? std::filesystem::path(folder)
                        : std::filesystem::path(lanescope::test::SourceDir()) / ".." / "shared";
  const std::filesystem::path path = base / "traces" / folder_of_kind / name;
  std::error_code error;
  return std::filesystem::exists(path, error) ? path.string() : std::string();
}

inline std::string SharedNsysTrace(const std::string& name) { return SharedTrace("nsys", name); }

}  // namespace lanescope::traces
