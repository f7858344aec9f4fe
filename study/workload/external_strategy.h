// SPDX-License-Identifier: Apache-2.0
// Strategies that are programs of their own: `exec:PROGRAM`. Internal to study.
#pragma once

#include <string>
#include <string_view>

#include "core/machine/machine.h"
#include "core/place/placement.h"
#include "core/schedule/cost.h"
#include "study/base/child_process.h"
#include "study/workload/workload.h"

namespace lanescope::study {

// The program's standard input (docs/reference/cli.md): {"graph", "costs", "machine"}.
std::string ExternalStrategyInput(const Workload& workload, const Machine& machine, const CostModel& costs);

// Runs `program` and reads a placement from its standard output; nodes that it does not name keep the device
// of `base`. `program` is a file, or a program with arguments, split at blanks; no shell is involved. Throws
// what RunChild throws, FailedPrecondition with the last line of its standard error when it fails,
// InvalidArgument for what is no placement.
Placement PlaceByProgram(std::string_view program, const Workload& workload, const Machine& machine,
                         const CostModel& costs, const Placement& base, const ChildLimits& limits);

}  // namespace lanescope::study
