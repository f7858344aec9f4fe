// Where the constants of sims/megatron come from.
#pragma once

#include <vector>

#include "sims/megatron/measured_rows.h"

namespace lanescope::bench {

// Predicted over measured, less one.
double ErrorOf(const megatron::MeasuredRow& row, const megatron::MegatronRules& rules);

// The rules that make the sum of absolute errors smallest, drawn weakly towards values that the literature
// gives. The same for the same rows. Prints the constants.
megatron::MegatronRules FitMegatron(const std::vector<megatron::MeasuredRow>& rows);

}  // namespace lanescope::bench
