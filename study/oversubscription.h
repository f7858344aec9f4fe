// Whether host threads that play devices asked for more cores than there are.
#pragma once

#include <cstddef>
#include <span>

#include "core/machine/machine.h"
#include "core/record/event.h"
#include "core/schedule/schedule.h"

namespace lanescope::study {

// As many events as it is judged by; more need not be held in memory.
inline constexpr size_t kJudgedEvents = size_t{1} << 21;

// `events`: of steps and of their commands. `copy_cores`: that one copy between devices keeps busy.
bool IsOversubscribed(const Schedule& schedule, const Machine& machine, std::span<const Event> events,
                      double copy_cores);

}  // namespace lanescope::study
