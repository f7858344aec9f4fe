// SPDX-License-Identifier: Apache-2.0
// One task's share of a schedule: the commands of its own devices, and its ends of the messages between
// tasks.
#pragma once

#include <string>
#include <vector>

#include "core/machine/tasks.h"
#include "core/schedule/joint_parts.h"
#include "core/schedule/schedule.h"

namespace lanescope {

// The tasks in which a command begins and ends: those of a copy's memories, else of its device.
struct TaskEnds {
  int from = 0, to = 0;

  bool Has(int task) const { return from == task || to == task; }
};
TaskEnds EndsOf(const Schedule& schedule, const MachineTasks& tasks, CommandId command);
// Whether what waits for the one is in none of its tasks, so that a message without content has to tell it.
inline bool NeedsSignal(const TaskEnds& before, const TaskEnds& after) {
  return !after.Has(before.from) && !after.Has(before.to);
}

// The end of a message in this share, whose other end is in another task's. A copy moves a tensor; a Record
// stands for a dependency between commands of two tasks that no copy carries, and moves nothing.
struct MessageEnd {
  int peer = -1;  // the other task; -1: the command is no end
  bool is_send = false;
  int message = -1;  // its number in the whole schedule: both ends have the same
  int meeting = -1;  // not -1: it is this meeting of the share, and `peer` the task itself
};

// Where a task says that it can launch its parts of a joint launch at once, and hears that all others can,
// too: all that comes before a part here has been given to its device. So what is launched then waits for
// nothing but the launches of the other parts.
struct Meeting {
  std::vector<int> tasks;        // that have parts, ascending
  std::vector<DeviceId> gpus;    // of all parts, by rank
  std::vector<CommandId> parts;  // of the share
};

struct TaskShare {
  Schedule schedule;
  int task = 0;
  int num_messages = 0;  // of all tasks
  QueueId network;       // of the ends, which complete in any order; none where there are none
  std::vector<Meeting> meetings;
  IdVector<CommandId, MessageEnd> ends;  // by command of the share
  // By command of the share: its number in the whole schedule; none for a dependency that no copy carries.
  IdVector<CommandId, CommandId> whole;
  // By command of the share: how many messages are on a way to it in the whole schedule at most. What is of
  // one phase never waits for itself by way of other tasks.
  IdVector<CommandId, int> phase;
};

// Values, buffers and operands keep their numbers; what is in other tasks' memory has none here. Commands and
// queues are numbered anew, in the same order. Running every share, where a message is sent once its sender's
// dependencies are met and received once the receiver's are, and a send completes only when the receiver has
// begun to take it, keeps every dependency of the whole: what a copy waits for at one end is complete before
// it completes at the other. A Wait for a Record of another task has no partner, since a message tells it.
// Fetches belong to the task `client`. `joint`: the launches of the whole that are to meet.
TaskShare ShareOfTask(const Schedule& whole, const MachineTasks& tasks, int task, int client = 0,
                      const std::vector<JointParts>& joint = {});

// The tasks that have a command of the schedule, or an end of one, ascending.
std::vector<int> TasksWithAPart(const Schedule& whole, const MachineTasks& tasks);

}  // namespace lanescope
