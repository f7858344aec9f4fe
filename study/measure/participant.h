// SPDX-License-Identifier: Apache-2.0
// How this process takes part in the steps of a run: alone, with the processes of its job, or as a client of
// tasks that serve it. A recorded run asks nothing else about other processes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "core/record/event.h"
#include "core/record/run_task.h"
#include "exec/run/session.h"
#include "study/base/cancellation.h"
#include "study/job/computers.h"
#include "study/job/job.h"
#include "study/measure/run_settings.h"
#include "study/workload/filled_queues.h"
#include "study/workload/placing.h"
#include "traces/record/activity_rows.h"

namespace lanescope::exec {
class RemoteTasks;
}  // namespace lanescope::exec

namespace lanescope::study {

class JobCapture;
class RunCapture;

// A meaning that SIGTERM may have in a job, added to the reason of a run.
inline constexpr const char* kAnotherMayHaveFailed =
    ", which also comes when another process of the job has failed";

// This class is a process alone. Runs of one process after another may share a participant. Functions are
// called in the order in which they stand here; those that take a cancellation throw Cancelled soon after it
// is cancelled, which may be null.
class Participant {
 public:
  virtual ~Participant() = default;

  // Throws Unimplemented for a workload that the processes cannot run.
  virtual void RequireRunnable(const Workload& workload) const;
  // Before the session is made: variables that others keep are ready for it.
  virtual void AwaitVariables(Cancellation* cancellation);
  // The session's part in the steps.
  virtual void Join(const Machine& machine, exec::SessionOptions* session) const;
  // The init targets that the process runs, and afterwards that they have run.
  virtual std::vector<std::string> InitTargets(const PlacedGraph& placed, const Machine& machine) const;
  virtual void Initialized();
  // The threads that fill the queues of a step; empty: other processes may.
  virtual std::optional<QueueFillers> queue_fillers() const;
  // Why GPU activity is not captured; empty: it is.
  virtual std::string CaptureProblem(const RunCapture& capture, const Machine& machine) const;
  // Where rows of other processes go into the sink too; null: rows of this one are all. `sink` is null where
  // this process writes no trace.
  virtual std::unique_ptr<JobCapture> ShareCapture(RunCapture* capture, const exec::PreparedStep& step,
                                                   traces::ActivitySink* sink) const;
  virtual bool shares_captures() const { return false; }

  // Steps, not recorded, that the others wait for, and afterwards that they have run.
  virtual int steps_alone() const { return 0; }
  virtual void RanAlone() {}
  // Processes of this computer that take part, by number, but this one.
  virtual std::vector<int> neighbours() const { return {}; }
  // Called before a recorded step.
  virtual void BeginStep() {}
  // Whether a step's events lie in several processes, and Gather joins them.
  virtual bool gathers() const { return false; }
  // Whether commands are timed in some of the steps. `mine`: this process writes them down, or keeps them.
  virtual bool TimesCommands(bool mine) const { return mine; }
  // Events of the step in the numbers of the whole schedule: of all processes, where this one writes them
  // down, else none. `own`: those of this process.
  virtual std::vector<Event> Gather(std::vector<Event> own, const exec::PreparedStep& step,
                                    exec::Session* session);
  // Does that for `own` alone, when the others are gone.
  virtual std::vector<Event> Own(std::vector<Event> own, const exec::PreparedStep& step) const;

  // Work that the process can do while others still run.
  struct AfterSteps {
    bool fills_queues = false;     // threads of it fill queues
    std::function<void()> step;    // one more, not recorded
    std::function<void()> finish;  // ends a step that runs; none follows
  };
  // After the last recorded step.
  virtual void AwaitOthers(const AfterSteps& after, Cancellation* cancellation);

  // Computers that play the machine's tasks, by which oversubscription is judged.
  virtual Computers computers() const { return OneComputer(); }
  // The processes as a trace has them.
  virtual std::vector<RunTask> RunTasks(const Machine& machine) const;
  // Added to the reason of a run that SIGTERM ended; empty: nothing.
  virtual std::string WhyTerminated() const { return {}; }
};

// The processes of `job` make the same calls; the first one's trace holds what all did. A job of one process
// is a process alone. `start_together`: they begin recorded steps at the same moment. The job must outlive
// the participant.
std::shared_ptr<Participant> ProcessOfJob(Job* job, bool start_together = false);

// Stands for `job` where this process runs something by itself, on the devices of the machine's task `task`;
// the others run something else meanwhile. The job must outlive the participant.
std::shared_ptr<Participant> TaskOfJob(Job* job, int task);

// A process whose graph runs on tasks that serve it, beside other clients of these.
struct Client {
  exec::RemoteTasks* servers = nullptr;  // must outlive the participant
  Computers computers = OneComputer();
  // The rank of the client that gives variables of those tasks their first values, once for all; the others
  // wait for it, and see to their own variables. -1: nobody does.
  int initializer = -1;
  // Containers of those tasks that it empties before it gives first values, or where nobody does. A client
  // that waits for another's values leaves this to that one.
  std::vector<std::string> reset = {};
  int alone_steps = 0;  // of the initializer, not recorded, before the others begin
  // After its steps it goes on, without recording, until all clients have run theirs: they wait for what its
  // steps give them.
  bool together = false;
};
std::shared_ptr<Participant> ClientOfTasks(Client client);

}  // namespace lanescope::study
