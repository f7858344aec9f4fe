// SPDX-License-Identifier: Apache-2.0
// Pairs of events that time the commands of a GPU take time of their streams. This takes it out of a step
// again.
#pragma once

#include <cstdint>
#include <span>

#include "core/record/event.h"
#include "core/schedule/schedule.h"

namespace lanescope::study {

// That a pair lengthens a step by at most: some 4 us in a recorded graph and 9 in a stream were seen on an
// H100.
inline constexpr int64_t kLongestPairNs = 10'000;

// `events`: all of one step, its own among them, of which those with `by_pair` lie on in-order queues of
// `schedule`. Pairs have lengthened the step by `added_ns` in all. Each gets an equal share of that, where
// several were made at the same time one of them; a part lies in the gap between two commands of a queue, up
// to half and no more than such gaps usually have, the rest in the command itself, of which a tenth stays at
// least. Everything in the step that comes later moves forward, so that it stays in order; the step begins
// when it did. Returns what a pair got, at most kLongestPairNs; 0 where nothing was taken out.
int64_t TakeOutPairs(const Schedule& schedule, int64_t added_ns, std::span<Event> events);

}  // namespace lanescope::study
