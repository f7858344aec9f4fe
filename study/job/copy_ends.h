// SPDX-License-Identifier: Apache-2.0
// One event of the two that a copy between processes has. Internal to study.
#pragma once

#include <vector>

#include "core/record/event.h"
#include "core/schedule/schedule.h"

namespace lanescope::study {

// Makes one event of a copy that has two in a step: from when both ends were ready until both were done.
// Commands are those of the whole schedules, which the events number; what is none of them is left out.
std::vector<Event> JoinCopyEnds(const std::vector<Event>& events,
                                const std::vector<const Schedule*>& schedules);

}  // namespace lanescope::study
