// SPDX-License-Identifier: Apache-2.0
// The roles of processes that mpirun started where each runs a graph: one alone, a job, or clients of
// tasks that others serve.
#pragma once

#include <memory>
#include <string>

#include "core/machine/machine.h"
#include "core/schedule/cost.h"
#include "exec/messages/transport.h"
#include "study/job/job.h"
#include "study/job/serving.h"
#include "study/measure/participant.h"
#include "study/workload/placing.h"

namespace lanescope::study {

// All processes make the same calls in the same order. Not thread-safe.
class Participation {
 public:
  // `ranks`: null for a process alone; must outlive it. `trace`: the file that this one writes; empty: none.
  // Throws InvalidArgument where the processes cannot work together (ShareRoles).
  Participation(exec::Transport* ranks, const std::string& trace);
  ~Participation();
  Participation(const Participation&) = delete;
  Participation& operator=(const Participation&) = delete;

  bool is_served() const { return roles_.are_served(); }
  // The processes that make the same calls; of a served one it has this process alone.
  Job& job() { return job_; }
  // As study::Place; a served process is connected to the tasks that serve it, and its own devices come first
  // (PlaceForClient). Throws FailedPrecondition for a machine without a task for every process.
  PlacedGraph Place(const Workload& workload, const std::string& strategy, const Machine& machine,
                    const CostModel& costs, const PlaceOptions& options);

  // Which client gives variables of served tasks their first values.
  enum class Initializer { kFirst, kEach, kNone };
  // The participation of a placed graph's run. `client`: how it behaves where it is served.
  std::shared_ptr<Participant> MakeParticipant(Initializer initializer, Client client);

 private:
  struct Served;  // the connection to tasks that serve this process

  exec::Transport* const ranks_;
  const Roles roles_;
  Job job_;
  std::unique_ptr<Served> served_;
};

}  // namespace lanescope::study
