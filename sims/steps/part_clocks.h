// SPDX-License-Identifier: Apache-2.0
// The clock of a GPU that several logical devices share.
#pragma once

#include <vector>

#include "core/machine/machine.h"
#include "core/schedule/schedule.h"
#include "sims/steps/measured_steps.h"

namespace lanescope::sims {

// The streams of logical devices have the clock of their GPU, but where it was read for each device by
// itself, each reading is late by another time. With it the least time from the end of a command to the
// beginning of one that waits for it is longer in one direction than in the other; what it really takes is
// the same in both (as the Network Time Protocol has it). Moves the commands of devices back until it is: of
// two readings the earlier one is less late. Devices stay as they are where nothing goes both ways between
// them.
void AlignParts(const Schedule& schedule, const Machine& machine, std::vector<MeasuredStep>* steps);

}  // namespace lanescope::sims
