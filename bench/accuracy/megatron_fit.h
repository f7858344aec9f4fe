// SPDX-License-Identifier: Apache-2.0
// Where the constants of sims/megatron come from.
#pragma once

#include <vector>

#include "sims/megatron/measured_rows.h"

namespace lanescope::bench {

// Predicted over measured, less one.
double ErrorOf(const sims::megatron::MeasuredRow& row, const sims::megatron::MegatronRules& rules);

// The rules that make the sum of absolute errors smallest, drawn weakly towards values that the literature
// gives. The same for the same rows. Prints the constants.
sims::megatron::MegatronRules FitMegatron(const std::vector<sims::megatron::MeasuredRow>& rows);

}  // namespace lanescope::bench
