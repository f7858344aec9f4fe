// SPDX-License-Identifier: Apache-2.0
#include "sims/predict/caveat.h"

#include "core/base/units.h"
#include "core/schedule/cost.h"

namespace lanescope::sims {
namespace {

constexpr double kNotableShare = 0.1;  // share of the commands' time

// "GPU:0, GPU:1": devices without an arithmetic rate or a bandwidth.
std::string DevicesWithoutRates(const Machine& machine) {
  std::string names;
  for (const DeviceSpec& device : machine.devices) {
    if (!device.peak_flops.empty() && device.memory_bandwidth > 0) continue;
    names += (names.empty() ? "" : ", ") + device.local_name();
  }
  return names;
}

}  // namespace

std::string CaveatOf(const BasisShares& basis, const Machine& machine) {
  const double unknown = basis.of(CostBasis::kNothing);
  const double assumed = basis.of(CostBasis::kAssumed);
  const double measured = basis.of(CostBasis::kMeasured) + basis.of(CostBasis::kFitted);
  const double outside = 1 - measured - unknown - assumed;
  if (assumed >= kNotableShare) {
    const std::string devices = DevicesWithoutRates(machine);
    return fmt::format(
        "nothing to go by for {} of the commands' time: the machine file gives no rates{}{}; 10 GFLOP/s and "
        "10 GB/s are assumed",
        PercentText(assumed, 0), devices.empty() ? "" : " for ", devices);
  }
  if (unknown >= kNotableShare) {
    return fmt::format("nothing to go by for {} of the commands' time: {} unknown work",
                       PercentText(unknown, 0),
                       basis.unknown_commands == 1 ? "1 command has"
                                                   : fmt::format("{} commands have", basis.unknown_commands));
  }
  const bool calibrated = basis.of(CostBasis::kExtrapolated) > 0 || measured > 0;
  if (calibrated && outside >= kNotableShare)
    return fmt::format("outside what was calibrated for {} of the commands' time", PercentText(outside, 0));
  return "";
}

}  // namespace lanescope::sims
