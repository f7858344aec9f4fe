// SPDX-License-Identifier: Apache-2.0
// The time between two commands of one queue: a driver thread takes the next one, or a stream begins it.
#pragma once

#include <array>
#include <cstdint>

#include "sims/effects/effect.h"
#include "sims/engine/delays.h"

namespace lanescope::sims {

// In ns, by DeviceKind and QueueClass.
using QueueTimes = std::array<std::array<int64_t, kNumQueueClasses>, kNumDeviceKinds>;

// Drivers that are threads of the host.
struct Dispatch final : Effect {
  static const EffectKind kKind;
  QueueTimes ns{};

  void AddTo(SimulationModel* model) const override;
  // Between copies of virtual GPUs: a chain of commands made for it (FitChain).
  void HandOn(EffectSet* effects) const override;
};

// Streams of GPUs. Of compute streams that take commands in order, fitted with Issue.
struct StreamGap final : Effect {
  static const EffectKind kKind;
  QueueTimes ns{};

  void AddTo(SimulationModel* model) const override;
};

// The usual gap of a stream that has its GPU's front end to itself.
int64_t LookNs(const StepStarts& starts);

}  // namespace lanescope::sims
