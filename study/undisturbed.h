// Which measured steps count: those in which this program had the machine to itself.
#pragma once

#include <span>
#include <vector>

#include "core/record/disturbance.h"

namespace lanescope::study {

// By step of a row, in the order in which they ran, `steps_per_round` to a round. A round is disturbed when
// other processes used more than a tenth of a processor while it ran (beyond what the clock's ticks may be
// off by), a hypervisor took more than a fiftieth, or most of its steps were held up. A step is held up when
// its threads waited for processors for 3% of its length longer than in the quietest quarter of the row's
// steps: rows that ask for more cores than there are wait for themselves.
std::vector<char> UndisturbedSteps(std::span<const Disturbance> steps, int steps_per_round);

}  // namespace lanescope::study
