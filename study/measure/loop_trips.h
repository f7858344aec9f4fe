// SPDX-License-Identifier: Apache-2.0
// How often loops run whose end data decide.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "study/base/cancellation.h"
#include "study/workload/workload.h"

namespace lanescope::study {

// By loop, as a step of the graph runs on this computer, with the feeds of its run configuration and what
// `options` says; no loop runs more often than the configuration or the options say. Empty where data decide
// no loop's end. Throws what Workload and RecordedRun throw.
std::map<std::string, int64_t> MeasureTrips(const std::string& path, const WorkloadOptions& options,
                                            Cancellation* cancellation);

}  // namespace lanescope::study
