#include "cli/unknown_report.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/print.h"
#include "core/base/units.h"
#include "core/schedule/cost.h"

namespace lanescope::cli {
namespace {

constexpr double kNotable = 0.1;  // share of the commands' time

// "GPU:0, GPU:1": devices without an arithmetic rate or a bandwidth.
std::string DevicesWithoutRates(const Machine& machine) {
  std::string names;
  for (const DeviceSpec& device : machine.devices) {
    if (!device.peak_flops.empty() && device.memory_bandwidth > 0) continue;
    names += (names.empty() ? "" : ", ") + device.local_name();
  }
  return names;
}

std::string Launches(int count) { return fmt::format("{} launch{}", count, count == 1 ? "" : "es"); }

}  // namespace

std::string CaveatOf(const sims::Prediction& prediction, const Machine& machine) {
  const double unknown = prediction.share(CostBasis::kNothing);
  const double assumed = prediction.share(CostBasis::kAssumed);
  const double measured = prediction.share(CostBasis::kMeasured) + prediction.share(CostBasis::kFitted);
  const double outside = 1 - measured - unknown - assumed;
  if (assumed >= kNotable) {
    const std::string devices = DevicesWithoutRates(machine);
    return fmt::format(
        "nothing to go by for {} of the commands' time: the machine file gives no rates{}{}; 10 GFLOP/s and "
        "10 GB/s are assumed",
        PercentText(assumed, 0), devices.empty() ? "" : " for ", devices);
  }
  if (unknown >= kNotable) {
    return fmt::format(
        "nothing to go by for {} of the commands' time: {} unknown work", PercentText(unknown, 0),
        prediction.unknown_commands == 1 ? "1 command has"
                                         : fmt::format("{} commands have", prediction.unknown_commands));
  }
  const bool calibrated = prediction.share(CostBasis::kExtrapolated) > 0 || measured > 0;
  if (calibrated && outside >= kNotable)
    return fmt::format("outside what was calibrated for {} of the commands' time", PercentText(outside, 0));
  return "";
}

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
