// SPDX-License-Identifier: Apache-2.0
#include "sims/steps/measured_steps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "sims/engine/issued_schedule.h"
#include "sims/engine/simulator.h"

namespace lanescope::sims {
namespace {

constexpr int64_t kUnset = INT64_MIN;

// A command that comes before another on an in-order queue is a dependency, too. A profiler's record of a
// kernel may begin while the one before it on its stream ends: that time counts once.
void FillSyncs(const Schedule& schedule, const Rows<CommandId, CommandId>& predecessors, MeasuredStep* step) {
  IdVector<QueueId, int64_t> queue_end(schedule.queues.size(), step->start_ns);
  for (const CommandId c : schedule.commands.ids()) {
    const QueueId queue = schedule.commands[c].queue;
    if (step->command_end_ns[c] == kUnset) {
      int64_t end = step->start_ns;
      for (const CommandId p : predecessors[c]) end = std::max(end, step->command_end_ns[p]);
      if (schedule.queues[queue].in_order && !schedule.issue.empty()) end = std::max(end, queue_end[queue]);
      step->command_start_ns[c] = step->command_end_ns[c] = end;
    } else if (schedule.queues[queue].in_order && !schedule.issue.empty()) {
      int64_t& start = step->command_start_ns[c];
      start = std::min(std::max(start, queue_end[queue]), step->command_end_ns[c]);
    }
    queue_end[queue] = std::max(queue_end[queue], step->command_end_ns[c]);
  }
}

// The host learns of a recorded segment as a whole.
void BeginAfterStreams(const Schedule& schedule, const IdVector<CommandId, int>& segments,
                       const Rows<CommandId, CommandId>& predecessors, MeasuredStep* step) {
  std::map<int, int64_t> segment_end;
  for (const CommandId c : segments.ids()) {
    int64_t& end = segment_end.try_emplace(segments[c], INT64_MIN).first->second;
    end = std::max(end, step->command_end_ns[c]);
  }
  for (const CommandId c : segments.ids()) {
    if (schedule.queues[schedule.commands[c].queue].in_order) continue;
    int64_t& start = step->command_start_ns[c];
    for (const CommandId p : predecessors[c]) {
      if (!schedule.queues[schedule.commands[p].queue].in_order) continue;
      const int64_t through = segments[p] < 0 ? step->command_end_ns[p] : segment_end[segments[p]];
      start = std::max(start, std::min(through, step->command_end_ns[c]));
    }
  }
}

// Launches of streams that no step has an event of: what a profiler sees of a GPU are kernels and copies, and
// such a launch makes none. None where that would be most of them, for then events are missing.
IdVector<CommandId, char> FindSilent(const Schedule& schedule, const std::map<int, MeasuredStep>& steps) {
  IdVector<CommandId, char> silent(schedule.commands.size(), 0);
  if (schedule.issue.empty()) return silent;
  size_t launches = 0, without = 0;
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    if (command.kind != CommandKind::kLaunch || !schedule.queues[command.queue].in_order) continue;
    ++launches;
    silent[c] = std::ranges::all_of(
        steps, [&](const auto& numbered) { return numbered.second.command_end_ns[c] == kUnset; });
    without += static_cast<size_t>(silent[c]);
  }
  if (2 * without >= launches) silent.assign(schedule.commands.size(), 0);
  return silent;
}

bool IsComplete(const Schedule& schedule, const IdVector<CommandId, char>& silent, const MeasuredStep& step) {
  if (step.start_ns == kUnset) return false;
  for (const CommandId c : schedule.commands.ids()) {
    const bool has_event = schedule.commands[c].is_work() && !RunsNothing(schedule, c) && silent[c] == 0;
    if (has_event && step.command_end_ns[c] == kUnset) return false;
  }
  return true;
}

}  // namespace

Rows<CommandId, CommandId> PredecessorsOf(const Schedule& schedule) {
  return Transpose(schedule.successors, schedule.commands.size());
}

Rows<CommandId, CommandId> WaitedFor(const Schedule& schedule,
                                     const Rows<CommandId, CommandId>& predecessors) {
  IdVector<QueueId, CommandId> last(schedule.queues.size());
  IdVector<QueueId, std::vector<CommandId>> waiting(schedule.queues.size());
  IdVector<CommandId, CommandId> before(schedule.commands.size());  // of Records
  Rows<CommandId, CommandId> waited;
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    if (command.kind == CommandKind::kRecord) {
      before[c] = last[command.queue];
    } else if (command.kind == CommandKind::kWait) {
      for (const CommandId p : predecessors[c]) {
        if (before[p].exists()) waiting[command.queue].push_back(before[p]);
      }
    } else {
      last[command.queue] = c;
      for (const CommandId p : std::exchange(waiting[command.queue], {})) waited.Append(p);
    }
    waited.EndRow();
  }
  return waited;
}

std::vector<MeasuredStep> GroupSteps(const Schedule& schedule, std::span<const Event> events,
                                     int warmup_steps) {
  const size_t total = schedule.commands.size();
  std::map<int, MeasuredStep> steps;
  for (const Event& event : events) {
    if (event.step < warmup_steps) continue;
    if (event.end_ns < event.start_ns) {
      Throw(Code::kInvalidArgument, "an event of step {} ends before it starts; the trace is damaged",
            event.step);
    }
    auto [found, added] = steps.try_emplace(event.step);
    MeasuredStep& step = found->second;
    if (added) {
      step.step = event.step;
      step.start_ns = step.end_ns = kUnset;
      step.command_start_ns.assign(total, kUnset);
      step.command_end_ns.assign(total, kUnset);
    }
    if (event.kind == EventKind::kStep) {
      step.start_ns = event.start_ns;
      step.end_ns = event.end_ns;
      continue;
    }
    if (!schedule.commands.Contains(event.command)) {
      Throw(Code::kInvalidArgument,
            "an event names command {} of a schedule of {}; the trace is of another run",
            event.command.number(), total);
    }
    // A profiler has an event for every kernel of a launch.
    int64_t &start = step.command_start_ns[event.command], &end = step.command_end_ns[event.command];
    start = start == kUnset ? event.start_ns : std::min(start, event.start_ns);
    end = std::max(end, event.end_ns);
  }
  const auto predecessors = PredecessorsOf(schedule);
  const auto segments = schedule.issue.empty() ? IdVector<CommandId, int>() : SegmentsOf(schedule);
  const IdVector<CommandId, char> silent = FindSilent(schedule, steps);
  std::vector<MeasuredStep> complete;
  for (auto& [number, step] : steps) {
    if (!IsComplete(schedule, silent, step)) continue;
    FillSyncs(schedule, predecessors, &step);
    BeginAfterStreams(schedule, segments, predecessors, &step);
    complete.push_back(std::move(step));
  }
  return complete;
}

std::vector<MeasuredStep> TypicalSteps(std::vector<MeasuredStep> steps) {
  return MiddleHalf(std::move(steps), [](const MeasuredStep& step) { return step.end_ns - step.start_ns; });
}

}  // namespace lanescope::sims
