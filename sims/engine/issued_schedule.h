// SPDX-License-Identifier: Apache-2.0
// A schedule with the threads that issue its streams. Internal to sims.
#pragma once

#include <cstdint>

#include "core/machine/machine.h"
#include "core/schedule/schedule.h"
#include "sims/engine/delays.h"

namespace lanescope::sims {

// How the simulator comes to know that a stream does not begin a command when what it waits for has ended,
// but when its thread has handed it over: a queue for each of these threads, on which a launch stands for
// every unit of core's IssuePlan, behind what the unit waits for and before the unit's commands. A segment
// begins after all that was issued before it, on any stream, and what is issued after it begins after its
// end; which is which is decided beforehand, by ranks, as though everything waited for were there in time.
//
// The commands, values and queues of the original keep their numbers; those of issuing come behind them.
class IssuedSchedule {
 public:
  // `original` has `issue`.
  IssuedSchedule(const Schedule& original, const Machine& machine, const StreamIssueTimes& times);

  const Schedule& schedule() const { return schedule_; }
  // Times of the launches that issue, behind the commands of the original; in ns.
  const IdVector<CommandId, int64_t>& issue_ns() const { return issue_ns_; }
  // The launches that issue, on which streams so many of the original's commands are issued by each.
  struct Issued {
    QueueId queue;
    int commands = 0;
  };
  const Rows<Issued, CommandId>& issued() const { return issued_; }

 private:
  Schedule schedule_;
  IdVector<CommandId, int64_t> issue_ns_;  // 0 for the original's
  Rows<Issued, CommandId> issued_;
};

// Which units there are of a schedule that has `issue`, where segments are recorded: by command, the number
// of its segment, -1 for those that are issued by themselves and those of no stream.
IdVector<CommandId, int> SegmentsOf(const Schedule& schedule);

}  // namespace lanescope::sims
