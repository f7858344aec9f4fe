// SPDX-License-Identifier: Apache-2.0
// The reasons that held up every command of measured steps: the samples that effects are fitted to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/machine/machine.h"
#include "core/machine/tasks.h"
#include "core/schedule/schedule.h"
#include "sims/engine/delays.h"
#include "sims/steps/measured_steps.h"

namespace lanescope::sims {

// A command that ran, and what came before it.
struct CommandStart {
  CommandId command;
  CommandId previous;  // of its queue: the one that had ended last when it began; none: it was the first
  CommandId released;  // the dependency that ended last; none: it has none
  // For a stream: compute streams of several logical devices of its GPU had work when it began, and whether
  // one of them was running a command.
  bool crowded = false;
  bool beside_running = false;
};

// The starts of the steps of one schedule. Refers to all that it is made of; immutable.
class StepStarts {
 public:
  StepStarts(const Schedule& schedule, const Machine& machine, std::span<const MeasuredStep> steps);

  struct Step {
    const MeasuredStep* measured;
    std::vector<CommandStart> starts;  // queue by queue, each in the order in which its commands began

    int64_t Begin(CommandId command) const { return measured->command_start_ns[command]; }
    int64_t End(CommandId command) const { return measured->command_end_ns[command]; }
    // When its last dependency had ended.
    int64_t Ready(const CommandStart& start) const {
      return start.released.exists() ? End(start.released) : measured->start_ns;
    }
  };
  const std::vector<Step>& steps() const { return steps_; }

  const Schedule& schedule() const { return schedule_; }
  const Queue& QueueOf(CommandId command) const {
    return schedule_.queues[schedule_.commands[command].queue];
  }
  QueueClass ClassOf(const Queue& queue) const {
    return QueueClassOf(queue.kind, machine_.device(queue.device));
  }
  DeviceKind KindOf(const Queue& queue) const { return machine_.device(queue.device).kind; }
  // Whether the two are of one recorded segment, or neither is of any.
  bool IsRecordedWith(CommandId a, CommandId b) const { return SegmentOf(a) == SegmentOf(b); }
  // The segment that the command is recorded with; -1: it is issued by itself, or on no stream.
  int SegmentOf(CommandId command) const { return segments_.empty() ? -1 : segments_[command]; }
  bool IsStreamCommand(CommandId command) const { return ClassOf(QueueOf(command)) == QueueClass::kStream; }
  // Whether a message without content tells of the end of `before`.
  bool IsSignal(CommandId before, CommandId after) const;

 private:
  std::vector<CommandStart> StartsOf(const MeasuredStep& step,
                                     const Rows<CommandId, CommandId>& predecessors) const;
  void FindCrowds(const MeasuredStep& step, std::vector<CommandStart>* starts) const;

  const Schedule& schedule_;
  const Machine& machine_;
  const MachineTasks tasks_;
  IdVector<CommandId, int> segments_;  // empty: there are no streams
  Rows<CommandId, CommandId>
      waited_;  // by command of a stream: what the events before it on its stream tell of
  std::vector<Step> steps_;
};

// Averages of times in ns, rounded, at least 0; 0 of none. In time are those up to four times the
// lower quartile, which counts as a us at least: a device may begin commands much later though nothing holds
// them up.
int64_t MeanOf(const std::vector<double>& samples);
int64_t MeanInTime(std::vector<double> samples);
int64_t MedianOf(const std::vector<double>& samples);

}  // namespace lanescope::sims
