// SPDX-License-Identifier: Apache-2.0
// How a device with streams takes a command: whether it may be recorded with others, is issued by itself, or
// needs the host. The executor issues by it and the simulator goes by it.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/graph/graph.h"
#include "core/machine/machine.h"
#include "core/schedule/schedule.h"

namespace lanescope {

// Fewer launches and copies are issued one by one.
inline constexpr int kMinSegment = 3;

// Whether the queue is a stream of a GPU of hardware: its commands are issued ahead of time.
bool IsStream(const Queue& queue, const Machine& machine);

// Whether launches of the op may differ from step to step though its operands do not: it reads a result back
// to the host, or the host counts on with every launch.
bool LaunchesVary(std::string_view op);

// How each command of a compiled schedule is issued; empty where it has no streams.
IdVector<CommandId, StreamIssue> FindStreamIssues(const Schedule& schedule, const Graph& graph,
                                                  const Machine& machine);
// As above for a command of which only the op and its signature (core/graph/signature.h) are known.
StreamIssue StreamIssueOf(CommandKind kind, std::string_view op, std::string_view signature);

}  // namespace lanescope
