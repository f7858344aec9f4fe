// SPDX-License-Identifier: Apache-2.0
// How the commands of a schedule are handed to the threads that issue them.
#pragma once

#include <span>
#include <vector>

#include "core/schedule/schedule.h"

namespace lanescope {

// An issue queue is what a thread drives, or several where its queue has workers to share: a queue of a host
// memory device, or all queues of a device with streams.
// A unit is what an issue queue hands out: a command, a segment of commands that are issued together, or the
// parts of a joint launch; these go by their first command, all others have no unit. Refers to the schedule,
// which must outlive it. Immutable.
struct IssuePlan {
  struct IssueQueue {
    bool in_order = false;
    std::vector<CommandId> order;  // in_order: the units by rank
    int workers = 1;               // of its queue, each with a thread of its own
  };
  std::vector<IssueQueue> queues;
  IdVector<CommandId, int> queue_of;  // -1: no unit
  // Dependencies between units, as in Schedule.
  Rows<CommandId, CommandId> successors;
  IdVector<CommandId, int> num_predecessors;
  std::vector<std::vector<CommandId>> segments;  // commands, ascending
  IdVector<CommandId, int> segment_of;           // -1: none; empty: there are no segments

  std::vector<std::vector<CommandId>> joint;  // the parts of each joint launch
  IdVector<CommandId, int> joint_of;          // -1: none; empty: there are no joint launches

  int Joint(CommandId command) const { return joint_of.empty() ? -1 : joint_of[command]; }
  int Segment(CommandId command) const { return segment_of.empty() ? -1 : segment_of[command]; }
};

// Every command by itself, every queue an issue queue: for schedules of host memory devices alone.
IssuePlan PlanByQueue(const Schedule& schedule);

// `stream_group`: by queue, the number (from 0) of the device whose streams it is one of, -1 for queues of
// host memory devices. The order inside a stream queue becomes explicit dependencies, so that one thread can
// issue all queues of a device as commands become ready. `recordable`: whether the command may be part of
// a segment. A segment is a maximal set of recordable commands between the same others; one of fewer than
// `min_segment` launches and copies is left as single commands. `joint`: commands that are one unit, none of
// them recordable, each group directly behind each other on its queues but for events. `phase`: of one task's
// share, TaskShare::phase, and a segment's commands are of one; else empty.
IssuePlan PlanForStreams(const Schedule& schedule, const IdVector<QueueId, int>& stream_group,
                         const IdVector<CommandId, char>& recordable, int min_segment,
                         std::vector<std::vector<CommandId>> joint = {},
                         const IdVector<CommandId, int>& phase = {});

}  // namespace lanescope
