// SPDX-License-Identifier: Apache-2.0
#include "sims/cost/device_speed.h"

#include <cmath>

#include "core/base/error.h"

namespace lanescope::sims {
namespace {

int64_t Divided(int64_t ns, double speed) { return std::llround(static_cast<double>(ns) / speed); }

}  // namespace

void RequireSpeed(double speed) {
  if (!(speed >= kMinSpeed) || !(speed <= kMaxSpeed))
    Throw(Code::kInvalidArgument, "a device's speed must be between {} and {}", kMinSpeed, kMaxSpeed);
}

Machine AtSpeed(Machine machine, const IdVector<DeviceId, double>& speed) {
  for (const DeviceId d : machine.devices.ids()) {
    if (speed[d] == 1) continue;
    DeviceSpec& device = machine.devices[d];
    for (auto& [dtype, rate] : device.peak_flops) rate *= speed[d];
    device.memory_bandwidth *= speed[d];
    device.launch_ns = Divided(device.launch_ns, speed[d]);
  }
  return machine;
}

CostEstimate AtSpeed(CostEstimate estimate, double speed) {
  if (speed == 1) return estimate;
  estimate.ns = Divided(estimate.ns, speed);
  estimate.spread_ns = Divided(estimate.spread_ns, speed);
  return estimate;
}

CostEstimate CostAtSpeed::Launch(const Machine&, DeviceId device, const Node& node,
                                 std::span<const TensorInfo> inputs,
                                 std::span<const TensorInfo> outputs) const {
  return AtSpeed(costs_.Launch(machine_, device, node, inputs, outputs), speed_[device]);
}

}  // namespace lanescope::sims
