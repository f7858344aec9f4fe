// SPDX-License-Identifier: Apache-2.0
// Baselines of a store (traces/store/baselines.h) as sides of a gate.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "study/gate/gate.h"
#include "traces/store/baselines.h"

namespace lanescope::study {

// So many of the latest records say how baselines differ.
inline constexpr int kBaselinesKept = 20;

// Runs of the latest record. Throws NotFound where there is none, with the names that there are, and where
// it lacks one of the quantities.
std::vector<RunSample> LatestBaseline(traces::BaselineStore* store, const std::string& name,
                                      std::span<const Quantity> quantities);

// By quantity, of records that all have it. From one record to the next a program may have become faster or
// slower: their differences count, not their distances from a common mean.
std::vector<BaselineSpread> SpreadOfBaselines(std::span<const traces::BaselineRecord> records,
                                              std::span<const Quantity> quantities);

traces::BaselineRecord RecordOf(const std::string& what, int64_t utc_ns, std::span<const RunSample> runs,
                                std::span<const Quantity> quantities);

}  // namespace lanescope::study
