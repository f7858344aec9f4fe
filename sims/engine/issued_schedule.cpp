// SPDX-License-Identifier: Apache-2.0
#include "sims/engine/issued_schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "core/machine/tasks.h"
#include "core/schedule/issue_plan.h"
#include "core/schedule/stream_issue.h"

namespace lanescope::sims {
namespace {

using Edges = std::vector<std::pair<CommandId, CommandId>>;

// By queue: the number of the device whose stream it is, -1 for other queues.
IdVector<QueueId, int> StreamGroups(const Schedule& schedule) {
  std::map<DeviceId, int> numbers;
  IdVector<QueueId, int> groups;
  for (const Queue& queue : schedule.queues) {
    groups.Add(queue.in_order ? numbers.emplace(queue.device, static_cast<int>(numbers.size())).first->second
                              : -1);
  }
  return groups;
}

IssuePlan PlanOf(const Schedule& schedule, const IdVector<QueueId, int>& groups) {
  IdVector<CommandId, char> recordable;
  for (const CommandId c : schedule.commands.ids()) {
    const StreamIssue issue = schedule.issue[c];
    recordable.Add(groups[schedule.commands[c].queue] >= 0 &&
                   (issue == StreamIssue::kRecordable || issue == StreamIssue::kNothing));
  }
  return PlanForStreams(schedule, groups, recordable, kMinSegment);
}

// Adds what issues a schedule's units.
class Issuer {
 public:
  Issuer(Schedule* schedule, const Machine& machine, const StreamIssueTimes& times)
      : schedule_(*schedule),
        machine_(machine),
        tasks_(TasksOf(machine)),
        times_(times),
        groups_(StreamGroups(*schedule)),
        plan_(PlanOf(*schedule, groups_)),
        num_commands_(schedule->commands.size()),
        issue_of_(num_commands_),
        segment_end_(schedule->queues.size()) {
    for (const CommandId c : schedule_.commands.ids()) {
      for (const CommandId next : schedule_.Successors(c)) edges_.emplace_back(c, next);
    }
  }

  void Run() {
    issue_ns_.assign(num_commands_, 0);
    for (size_t c = 0; c < num_commands_; ++c) issued_.EndRow();
    AddDrivers();
    for (const CommandId unit : UnitsInOrder()) Issue(unit);
    WaitForHost();
    MakeRowsOfEdges();
  }

  IdVector<CommandId, int64_t>& issue_ns() { return issue_ns_; }
  Rows<IssuedSchedule::Issued, CommandId>& issued() { return issued_; }

 private:
  bool IsStreamCommand(CommandId command) const { return groups_[schedule_.commands[command].queue] >= 0; }

  std::vector<CommandId> CommandsOf(CommandId unit) const {
    const int segment = plan_.Segment(unit);
    return segment < 0 ? std::vector{unit} : plan_.segments[static_cast<size_t>(segment)];
  }
  CommandId UnitOf(CommandId command) const {
    const int segment = plan_.Segment(command);
    return segment < 0 ? command : plan_.segments[static_cast<size_t>(segment)].front();
  }

  void AddDrivers() {
    for (const QueueId q : groups_.ids()) {
      const auto group = static_cast<size_t>(groups_[q] + 1);
      if (group == 0) continue;
      if (drivers_.size() < group) drivers_.resize(group);
      if (drivers_[group - 1].exists()) continue;
      const DeviceId device = schedule_.queues[q].device;
      drivers_[group - 1] = schedule_.queues.Add({tasks_.host_of[device], QueueKind::kCompute, false,
                                                  machine_.device(device).local_name() + " driver", 1});
    }
  }

  // Units of streams, each after those that it waits for, of the others the one of the smallest rank.
  std::vector<CommandId> UnitsInOrder() const {
    IdVector<CommandId, int> waits = plan_.num_predecessors;
    using Key = std::pair<int, CommandId>;
    std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
    const auto arrive = [&](CommandId unit) { ready.emplace(schedule_.commands[unit].rank, unit); };
    for (size_t c = 0; c < num_commands_; ++c) {
      const CommandId unit(c);
      if (plan_.queue_of[unit] >= 0 && waits[unit] == 0) arrive(unit);
    }
    std::vector<CommandId> units;
    while (!ready.empty()) {
      const CommandId unit = ready.top().second;
      ready.pop();
      if (IsStreamCommand(unit)) units.push_back(unit);
      for (const CommandId next : plan_.successors[unit]) {
        if (--waits[next] == 0) arrive(next);
      }
    }
    return units;
  }

  // The thread's time for the command.
  int64_t NsOf(CommandId command) const {
    const Command& of = schedule_.commands[command];
    if (!of.is_work() || schedule_.issue[command] == StreamIssue::kNothing) return 0;
    const bool feeds = of.kind == CommandKind::kCopy &&
                       schedule_.RootValue(schedule_.Inputs(of)[0]).storage == Storage::kFeed;
    return feeds ? std::llround(times_.feed_byte_ns * static_cast<double>(of.bytes)) : 0;
  }

  void Issue(CommandId unit) {
    const std::vector<CommandId> commands = CommandsOf(unit);
    const bool is_segment = plan_.Segment(unit) >= 0;
    int64_t ns = is_segment ? times_.segment_ns : 0;
    for (const CommandId c : commands) {
      ns += NsOf(c);
      const bool works = schedule_.commands[c].is_work() && schedule_.issue[c] != StreamIssue::kNothing;
      if (works && !is_segment) ns += times_.single_ns;
    }
    Command issue;
    issue.kind = CommandKind::kLaunch;
    issue.queue = drivers_[static_cast<size_t>(groups_[schedule_.commands[unit].queue])];
    issue.node = schedule_.commands[unit].node;
    issue.rank = static_cast<int>(issue_ns_.size());
    const CommandId number = schedule_.commands.Add(issue);
    issue_ns_.Add(ns);
    issue_of_[unit] = number;

    IdVector<QueueId, CommandId> first(schedule_.queues.size()), last(schedule_.queues.size());
    IdVector<QueueId, int> counts(schedule_.queues.size(), 0);
    for (const CommandId c : commands) {
      const QueueId queue = schedule_.commands[c].queue;
      if (!first[queue].exists()) first[queue] = c;
      last[queue] = c;
      ++counts[queue];
    }
    for (const QueueId q : groups_.ids()) {
      if (counts[q] > 0) issued_.Append({q, counts[q]});
    }
    issued_.EndRow();
    if (is_segment && times_.recorded_ns > 0) HandOver(commands, number);
    for (const QueueId q : groups_.ids()) {
      if (!first[q].exists()) continue;
      edges_.emplace_back(number, first[q]);
      for (const QueueId other : groups_.ids()) {
        if (other == q) continue;
        if (is_segment && last_on_[other].exists()) edges_.emplace_back(last_on_[other], first[q]);
        if (!is_segment && segment_end_[other].exists()) edges_.emplace_back(segment_end_[other], first[q]);
      }
    }
    for (const CommandId c : commands) {
      for (const CommandId next : schedule_.Successors(c)) {
        if (!is_segment || IsStreamCommand(next)) continue;
        // The host learns of a segment as a whole.
        for (const QueueId q : groups_.ids()) {
          if (last[q].exists()) edges_.emplace_back(last[q], next);
        }
      }
    }
    for (const QueueId q : groups_.ids()) {
      if (is_segment) segment_end_[q] = last[q];
      if (last[q].exists()) last_on_[q] = last[q];
    }
    if (is_segment || schedule_.issue[unit] != StreamIssue::kSettled) return;
    settled_.push_back(unit);
  }

  // A launched segment reaches the device command by command: what goes on with another stream waits until
  // all before it are there.
  void HandOver(const std::vector<CommandId>& commands, CommandId launch) {
    int before = 0, there = 0;
    QueueId stream = schedule_.commands[commands.front()].queue;
    for (const CommandId c : commands) {
      const QueueId queue = schedule_.commands[c].queue;
      if (queue != stream && before > there) {
        Command reach = schedule_.commands[launch];
        reach.rank = static_cast<int>(issue_ns_.size());
        const CommandId number = schedule_.commands.Add(reach);
        issue_ns_.Add(times_.recorded_ns * (before - there));
        issued_.EndRow();
        edges_.emplace_back(launch, number);
        edges_.emplace_back(number, c);
        there = before;
      }
      stream = queue;
      const bool works = schedule_.commands[c].is_work() && schedule_.issue[c] != StreamIssue::kNothing;
      before += static_cast<int>(works);
    }
  }

  // A unit is issued when what it needs of the host is done, after the units that it waits for; where the
  // host takes a part in it, once its stream is empty.
  void WaitForHost() {
    IdVector<QueueId, CommandId> before(schedule_.queues.size());
    IdVector<CommandId, CommandId> previous(num_commands_);
    for (size_t c = 0; c < num_commands_; ++c) {
      CommandId& of_queue = before[schedule_.commands[CommandId(c)].queue];
      previous[CommandId(c)] = of_queue;
      of_queue = CommandId(c);
    }
    const Edges original(edges_);
    for (const auto& [from, to] : original) {
      if (to.index() >= num_commands_ || from.index() >= num_commands_ || !IsStreamCommand(to)) continue;
      const CommandId unit = UnitOf(to);
      if (!IsStreamCommand(from)) {
        edges_.emplace_back(from, issue_of_[unit]);
      } else if (UnitOf(from) != unit) {
        edges_.emplace_back(issue_of_[UnitOf(from)], issue_of_[unit]);
      }
    }
    for (size_t c = 0; c < num_commands_; ++c) {
      const CommandId command(c);
      if (!IsStreamCommand(command) || !previous[command].exists()) continue;
      if (UnitOf(previous[command]) != UnitOf(command))
        edges_.emplace_back(issue_of_[UnitOf(previous[command])], issue_of_[UnitOf(command)]);
    }
    for (const CommandId unit : settled_) {
      if (previous[unit].exists()) edges_.emplace_back(previous[unit], issue_of_[unit]);
    }
  }

  void MakeRowsOfEdges() {
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    const size_t total = schedule_.commands.size();
    schedule_.num_predecessors.assign(total, 0);
    for (const auto& [from, to] : edges_) ++schedule_.num_predecessors[to];
    schedule_.successors = MakeRows<CommandId, CommandId>(total, [&](const auto& add) {
      for (const auto& [from, to] : edges_) add(from, to);
    });
    schedule_.issue.resize(total);
  }

  Schedule& schedule_;
  const Machine& machine_;
  const MachineTasks tasks_;
  const StreamIssueTimes& times_;
  const IdVector<QueueId, int> groups_;
  const IssuePlan plan_;
  const size_t num_commands_;
  std::vector<QueueId> drivers_;             // by group
  IdVector<CommandId, CommandId> issue_of_;  // by unit
  // By stream: the last command of the latest segment, and the last command so far.
  IdVector<QueueId, CommandId> segment_end_, last_on_ = segment_end_;
  std::vector<CommandId> settled_;
  Edges edges_;
  IdVector<CommandId, int64_t> issue_ns_;
  Rows<IssuedSchedule::Issued, CommandId> issued_;
};

}  // namespace

IssuedSchedule::IssuedSchedule(const Schedule& original, const Machine& machine,
                               const StreamIssueTimes& times)
    : schedule_(original) {
  Issuer issuer(&schedule_, machine, times);
  issuer.Run();
  issue_ns_ = std::move(issuer.issue_ns());
  issued_ = std::move(issuer.issued());
}

IdVector<CommandId, int> SegmentsOf(const Schedule& schedule) {
  return PlanOf(schedule, StreamGroups(schedule)).segment_of;
}

}  // namespace lanescope::sims
