// SPDX-License-Identifier: Apache-2.0
// The processes that run steps of one machine together, each as one of its tasks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/machine/cluster_tasks.h"
#include "core/machine/machine.h"
#include "core/record/event.h"
#include "core/record/run_task.h"
#include "core/schedule/task_share.h"
#include "exec/messages/transport.h"
#include "exec/run/session.h"
#include "study/base/cancellation.h"
#include "study/base/notes.h"
#include "study/job/computers.h"
#include "study/job/this_machine.h"
#include "study/workload/placing.h"

namespace lanescope::study {

// How far a process' clock is ahead of the first one's, and by how much that may be wrong, in ns.
struct ClockOffset {
  int64_t ahead_ns = 0;
  int64_t uncertainty_ns = 0;
};

// Ends all processes with what they have found: the first one throws it as FailedPrecondition.
[[noreturn]] void ThrowForAll(exec::Transport* transport, const std::string& message);

// The processes run where the cluster has their tasks. All call it; throws FailedPrecondition naming the
// first that does not, in the first of them, which ends the others.
void RequireHosts(const std::vector<ClusterTask>& tasks, exec::Transport* transport);

// All processes make the same calls in the same order. Not thread-safe.
class Job {
 public:
  // `transport` null: this process is alone, and plays all tasks. Must outlive the job. Between programs of
  // one protocol, which WorldTransport sees to. `clock_name`: the same in processes that have one clock;
  // empty: it is this one's alone.
  explicit Job(exec::Transport* transport, const std::string& clock_name = ClockName());

  bool is_shared() const { return transport_ != nullptr; }
  int rank() const { return is_shared() ? transport_->rank() : 0; }
  bool is_first() const { return rank() == 0; }
  // The process that plays a task of the machine.
  int RankOf(int task) const { return is_shared() ? task : 0; }
  // The machine as this process sees it: GPUs of other tasks are numbered as their processes see them.
  Machine SeenHere(const Machine& machine) const;
  // Null for a process alone.
  exec::Transport* transport() const { return transport_; }
  exec::JobOptions session_options() const;
  // The other processes of this computer, by number.
  const std::vector<int>& neighbours() const { return neighbours_; }
  const Computers& computers() const { return computers_; }
  std::string NameOf(int rank) const { return is_shared() ? transport_->NameOf(rank) : "rank 0"; }
  // By rank, as measured last.
  const std::vector<ClockOffset>& clocks() const { return clocks_; }
  // The processes as a trace has them; empty for one alone.
  std::vector<RunTask> RunTasks(const Machine& machine) const;

  // The machine with its GPUs joined across processes where they can be (exec/messages/joined_gpus.h): what
  // is placed and run is for that one. The first process notes which way their copies go.
  Machine JoinGpus(const Machine& machine, const Notes& note);
  // Before the first step. Throws FailedPrecondition for a machine that has not one task for every process,
  // or one physical GPU for two, and where the processes mean different steps,
  // naming what differs and whose.
  // `settings`: what else has to be the same.
  void RequireSame(const PlacedGraph& placed, const Machine& machine, const std::string& settings) const;

  // Returns in all processes at the same moment, soon after all have called it: what one did before the
  // others is no part of the step that comes. Where `cancellation` is given and cancelled, soon after that:
  // the others are not waited for.
  void StartTogether(const Cancellation* cancellation = nullptr);
  // The first process' answer.
  bool FromFirst(bool mine) const;
  // Whether all found so.
  bool InAll(bool mine) const;

  // In the first process what the process `from` hands in, in the others nothing. Throws Cancelled soon after
  // that; `cancellation` may be null.
  std::string HandIn(int from, std::string text, const Cancellation* cancellation);
  // Measures clocks anew, for processes that hand in times after long work.
  void MeasureClocks();

  // The events of this process alone in the numbers of the whole schedule: when the others are gone.
  static std::vector<Event> Numbered(const std::vector<Event>& own, const TaskShare& share);
  // Gives the first process the events of all, in the numbers of the whole schedule and on its own clock: a
  // copy between tasks is one event, from when both ends were ready until both were done. Of the others
  // nothing.
  std::vector<Event> Gather(const std::vector<Event>& own, const Schedule& whole, const TaskShare& share);

 private:
  bool HasClockOfFirst(int rank) const;
  ClockOffset MeasureClock(int rank);
  void AnswerClock();
  void Await(exec::Transport::Ticket ticket);
  bool AwaitQuietly(exec::Transport::Ticket ticket, const Cancellation* cancellation);
  bool HearStart(const Cancellation* cancellation, int64_t* start);
  bool TellStart(const Cancellation* cancellation, int64_t* start);
  void Pass(int from, void* data, int64_t bytes, const Cancellation* cancellation);
  void FindNeighbours();

  exec::Transport* const transport_;
  std::vector<std::string> clock_names_;  // by rank: ClockName
  std::vector<ClockOffset> clocks_;
  std::vector<int> neighbours_;
  Computers computers_;
  bool joins_gpus_ = false;
};

}  // namespace lanescope::study
