// SPDX-License-Identifier: Apache-2.0
// A driver notices that what it waited for on another queue has ended.
#pragma once

#include <array>
#include <cstdint>

#include "sims/effects/effect.h"
#include "sims/engine/delays.h"

namespace lanescope::sims {

struct HandOff final : Effect {
  static const EffectKind kKind;
  // In ns, by the classes of the two queues.
  std::array<std::array<int64_t, kNumQueueClasses>, kNumQueueClasses> ns{};
  int64_t signal_ns = 0;  // where a message without content tells of it

  void AddTo(SimulationModel* model) const override;
  void HandOn(EffectSet* effects) const override;
};

// Fits, by `average`, delays of commands that became ready by the end of one on another queue, when
// their own queue had been free for its gap already: start less that end. Not the first of their queue. A
// pair of classes without samples takes the mean of the others, one with messages that of theirs, else what
// copies have. `effects`: with the gaps.
HandOff FitHandOffs(const StepStarts& starts, const EffectSet& effects,
                    int64_t (*average)(const std::vector<double>& samples));

}  // namespace lanescope::sims
