// SPDX-License-Identifier: Apache-2.0
// Caveats that come before the figures of a prediction. Internal to sims and study.
#pragma once

#include <string>

#include "core/machine/machine.h"
#include "sims/predict/predict.h"

namespace lanescope::sims {

// As Prediction::caveat has it.
std::string CaveatOf(const BasisShares& basis, const Machine& machine);

}  // namespace lanescope::sims
