// SPDX-License-Identifier: Apache-2.0
#include "traces/store/trace_kind.h"

#include <filesystem>
#include <fstream>

#include "core/base/error.h"

namespace lanescope::traces {

void RefuseOtherTraces(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  char head[16] = {};
  std::ifstream(path, std::ios::binary).read(head, sizeof(head));
  const std::string_view start(head, sizeof(head));
  if (start.starts_with("SQLite format 3")) return;
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".nsys-rep" || extension == ".qdrep" || extension == ".qdstrm") {
    Throw(Code::kInvalidArgument,
          "{} is a report of Nsight Systems, not an export; make one with: nsys export --type sqlite {}",
          path, path);
  }
  const size_t first = start.find_first_not_of(" \t\r\n");
  if (extension == ".json" && first != std::string_view::npos &&
      (start[first] == '{' || start[first] == '[')) {
    Throw(Code::kInvalidArgument, "{} is a trace in JSON; make a database of it with: lanescope import {}",
          path, path);
  }
}

}  // namespace lanescope::traces
