// SPDX-License-Identifier: Apache-2.0
// Which measured steps count: those in which this program had the machine to itself, and cores and GPUs had
// their usual speed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/record/disturbance.h"
#include "study/measure/gpu_clocks.h"

namespace lanescope::study {

// By step of a row, in the order in which they ran, `steps_per_round` to a round. A round is disturbed when
// other processes used more than a tenth of a processor while it ran (beyond what the clock's ticks may be
// off by) and this program's threads waited for processors for more than a hundredth of it, when a hypervisor
// took more than a fiftieth, or when most of its steps were held up. A step is held up when
// others used more than a twentieth in its round and its threads waited for processors for 3% of its length
// longer than in the quietest quarter of the row's steps: threads wait for each other too, more in one step
// than in the next.
std::vector<char> UndisturbedSteps(std::span<const Disturbance> steps, int steps_per_round);

// By slot, a round of a row among those of all rows, one right after the other: 1 where processes or a
// hypervisor took so much from it, around a slot that is shorter than 200 ms too, whose own ticks say
// nothing.
std::vector<char> SlotsBesideOthers(std::span<const Disturbance> slots);

// A range of times that the same work took; 0 is not known, and within every range.
struct SpeedRange {
  int64_t low = 0, high = INT64_MAX;
  bool Holds(int64_t time) const { return time == 0 || (low <= time && time <= high); }
};
// The range of `width` (1.05: 5%) that holds the most, of those that hold equally many the fastest.
SpeedRange UsualSpeed(std::vector<int64_t> times, double width);

// Cores that run at one speed measure the same within 2%; beside another machine's thread they take 15 to 40%
// longer, and one of two cores counts half.
inline constexpr double kSameCoreSpeed = 1.05;

// By step, read at its end: 1 where heat or a power brake held a GPU down, or its clock was not the usual one
// of the row, within 8%.
std::vector<char> OtherClockSteps(std::span<const GpuClock> steps);

}  // namespace lanescope::study
