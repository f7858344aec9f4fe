// SPDX-License-Identifier: Apache-2.0
#include "cli/unknown_report.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/print.h"
#include "core/base/units.h"
#include "core/schedule/cost.h"

namespace lanescope::cli {
namespace {

std::string Launches(int count) { return fmt::format("{} launch{}", count, count == 1 ? "" : "es"); }

}  // namespace

void PrintUnknownWork(const std::vector<UnknownWork>& unknown) {
  if (unknown.empty()) return;
  Print("\nUnknown here; `_lanescope_cost` and `_output_shapes` on the nodes would tell\n");
  for (const UnknownWork& work : unknown) {
    Print("  {:<30} {}{}", work.op, Launches(work.launches),
          work.defined ? " with a result of unknown size" : "");
    if (work.followers > 0) Print(", and {} that follow{}", work.followers, work.followers == 1 ? "s" : "");
    Print("\n");
  }
}

nlohmann::json UnknownWorkJson(const std::vector<UnknownWork>& unknown) {
  nlohmann::json list = nlohmann::json::array();
  for (const UnknownWork& work : unknown) {
    list.push_back({{"op", work.op},
                    {"defined", work.defined},
                    {"launches", work.launches},
                    {"followers", work.followers}});
  }
  return list;
}

}  // namespace lanescope::cli
