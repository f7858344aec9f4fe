// SPDX-License-Identifier: Apache-2.0
// Names of API calls.
#pragma once

#include <algorithm>
#include <string_view>

namespace lanescope::traces {

// "cudaLaunchKernel_v7000", the runtime's call since version 7.0 -> "cudaLaunchKernel".
inline std::string_view ApiCallName(std::string_view name) {
  const size_t at = name.rfind("_v");
  if (at == std::string_view::npos || at + 2 == name.size()) return name;
  const std::string_view version = name.substr(at + 2);
  const bool digits = std::ranges::all_of(version, [](char c) { return c >= '0' && c <= '9'; });
  return digits ? name.substr(0, at) : name;
}

// A call that launches all nodes of a graph at once ("cudaGraphLaunch", "hipGraphLaunch").
inline bool IsGraphLaunch(std::string_view name) {
  return name.find("GraphLaunch") != std::string_view::npos;
}

}  // namespace lanescope::traces
