// Which measured steps count: those in which this program had the machine to itself, and the machine its
// usual speed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/record/disturbance.h"

namespace lanescope::study {

// By step of a row, in the order in which they ran, `steps_per_round` to a round. A round is disturbed when
// other processes used more than a tenth of a processor while it ran (beyond what the clock's ticks may be
// off by), a hypervisor took more than a fiftieth, or most of its steps were held up. A step is held up when
// others used more than a twentieth in its round and its threads waited for processors for 3% of its length
// longer than in the quietest quarter of the row's steps: threads wait for each other too, more in one step
// than in the next.
std::vector<char> UndisturbedSteps(std::span<const Disturbance> steps, int steps_per_round);

// A round of a row among those of all rows, one right after the other.
struct RoundSlot {
  Disturbance taken;
  // Quickest step of the row that tells the machine's speed, just before and just after; 0: not known.
  int64_t reference_before_ns = 0, reference_after_ns = 0;
};

enum class Disturber { kNobody, kOthers, kSpeed };

// By slot. Others as above, around a slot that is shorter than 200 ms too, whose own ticks say nothing.
// Speed: what shares the hardware, but not the system, with this machine slows it down for seconds or
// minutes, and no counter tells. The usual speed is the 8% wide range that holds the most references.
std::vector<Disturber> JudgeSlots(std::span<const RoundSlot> slots);

}  // namespace lanescope::study
