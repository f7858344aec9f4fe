// SPDX-License-Identifier: Apache-2.0
// Links slowed to match this machine's arithmetic.
#pragma once

#include <cstdint>

#include "core/machine/machine.h"
#include "study/measure/recorded_run.h"
#include "study/workload/placing.h"

namespace lanescope::study {

// Makes every link of `machine` as much slower as this machine's arithmetic is slower than the reference's,
// on which a step of the placed graph takes `reference_step_ns` of GPU time: communication then weighs as it
// did there. Measures some steps. Returns the factor. Throws Cancelled.
double SlowLinks(const PlacedGraph& placed, int64_t reference_step_ns, const RecordedRunOptions& options,
                 Machine* machine);

}  // namespace lanescope::study
