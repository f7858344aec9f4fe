// SPDX-License-Identifier: Apache-2.0
// Processes that work on one thing together.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lanescope {

struct Ranks {
  int rank = 0, size = 1;
  // Gives the texts of all ranks, by rank, once all called it. All call it equally often. Null: one rank.
  std::function<std::vector<std::string>(const std::string& mine)> share = nullptr;

  bool is_first() const { return rank == 0; }
  std::vector<std::string> Share(const std::string& mine) const {
    return size > 1 ? share(mine) : std::vector<std::string>{mine};
  }
};

}  // namespace lanescope
