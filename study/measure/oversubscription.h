// SPDX-License-Identifier: Apache-2.0
// Whether host threads that play devices asked for more cores than their computer has.
#pragma once

#include <cstddef>
#include <span>

#include "core/machine/machine.h"
#include "core/record/event.h"
#include "core/schedule/schedule.h"
#include "study/job/computers.h"

namespace lanescope::study {

// As many events as it is judged by; more need not be held in memory.
inline constexpr size_t kJudgedEvents = size_t{1} << 21;

// Whether those of one computer did. `computers`: that play the machine's tasks. `events`: of steps and of
// their commands. `copy_cores`: that one copy between devices keeps busy, at each of its ends where they are
// on two computers.
bool IsOversubscribed(const Schedule& schedule, const Machine& machine, const Computers& computers,
                      std::span<const Event> events, double copy_cores);

}  // namespace lanescope::study
