// Links slowed to match this machine's arithmetic.
#pragma once

#include <string>

#include "cli/workload.h"
#include "core/cost.h"
#include "core/machine.h"

namespace lanescope::cli {

// Makes every link of `machine` as much slower as this machine's arithmetic is slower than the reference's,
// on which a step of the placed graph takes `reference_step` of GPU time: communication then weighs as it did
// there. Measures some steps. Returns the factor. Throws InvalidArgument for what is no positive time.
double SlowLinks(const PlacedGraph& placed, const std::string& reference_step, Machine* machine);

}  // namespace lanescope::cli
