// SPDX-License-Identifier: Apache-2.0
// Checks where a schedule's commands read and write, as a part of VerifySchedule. Internal to core.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/order_claims.h"
#include "core/schedule/schedule.h"

namespace lanescope {

// Replays all accesses in the order of the listing and throws Internal where an operand lies outside its
// memory, a command reads what another value has overwritten, writes one byte for two outputs, or overwrites
// an input that it may not. Claims that two commands that access a byte, one of them writing, are ordered:
// every access claims to come after the write before it, every write after the reads before it, and the rest
// follows, whichever queues they are on.
void CheckMemory(const Graph& graph, const Schedule& schedule, OrderClaims* claims);

}  // namespace lanescope
