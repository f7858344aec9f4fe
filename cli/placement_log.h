// SPDX-License-Identifier: Apache-2.0
// Where nodes run, in TensorFlow's words (--log-device-placement).
#pragma once

#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "core/place/placement_log.h"
#include "study/workload/placing.h"

namespace lanescope::cli {

// "Device mapping:" and a line for each GPU, as TensorFlow writes at the start of a session; "Device mapping:
// no known devices." for a machine without.
std::string DeviceMapping(const Machine& machine);

// A line for each node, in the order in which the placer took them (kV0: in which the first releases did).
// Where it had no say (a file, a program) that is the order in which it looked at them.
std::string PlacementLog(const study::PlacedGraph& placed, const Machine& machine,
                         const std::vector<NodeId>& order, LogStyle style = LogStyle::kV1);

}  // namespace lanescope::cli
