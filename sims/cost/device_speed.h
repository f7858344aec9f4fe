// SPDX-License-Identifier: Apache-2.0
// A device that is faster or slower than it is: the rule for what-ifs, of the command line and of the
// GUI.
#pragma once

#include <span>
#include <vector>

#include "core/schedule/cost.h"
#include "sims/engine/computers.h"

namespace lanescope::sims {

// Throws InvalidArgument for a speed that is not from kMinSpeed to kMaxSpeed.
void RequireSpeed(double speed);

// The machine as its file would describe it when device d has speed[d] times its rates.
Machine AtSpeed(Machine machine, const IdVector<DeviceId, double>& speed);

// A launch that costs `estimate` at speed 1 costs this at `speed`.
CostEstimate AtSpeed(CostEstimate estimate, double speed);

// Launches take 1 / speed of what `costs` says of them, whether that was measured or estimated; copies are
// the links' business. Refers to `costs` and owns the rest; immutable, const calls from any thread.
class CostAtSpeed : public CostModel {
 public:
  // `machine`: where every device has the speed that `costs` knows.
  CostAtSpeed(const CostModel& costs, Machine machine, IdVector<DeviceId, double> speed)
      : costs_(costs), machine_(std::move(machine)), speed_(std::move(speed)) {}

  CostEstimate Launch(const Machine& machine, DeviceId device, const Node& node,
                      std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) const override;
  CostEstimate Copy(const Machine& machine, DeviceId src, DeviceId dst, int64_t bytes) const override {
    return costs_.Copy(machine, src, dst, bytes);
  }

 private:
  const CostModel& costs_;
  const Machine machine_;
  const IdVector<DeviceId, double> speed_;
};

}  // namespace lanescope::sims
