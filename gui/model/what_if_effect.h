// SPDX-License-Identifier: Apache-2.0
// The effect of a change, apart from what the model gets wrong anyway.
#pragma once

#include <optional>

#include "gui/model/run_data.h"

namespace lanescope::gui {

struct WhatIfEffect {
  double change = 0;           // of the predicted step, against the prediction without the change
  std::optional<double> bias;  // of the prediction without the change, against the measured step
};

// The effect of a what-if; nothing for other runs.
std::optional<WhatIfEffect> EffectOf(const RunData& run);

}  // namespace lanescope::gui
