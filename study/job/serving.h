// SPDX-License-Identifier: Apache-2.0
// Processes of which some serve their devices to others, which run graphs on them: who does what, and where
// such a graph goes.
#pragma once

#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "exec/messages/transport.h"
#include "study/job/computers.h"
#include "study/workload/placing.h"

namespace lanescope::study {

// The roles of the job's processes, by rank.
struct Roles {
  std::vector<int> servers, clients;
  Computers computers = OneComputer();  // that they run on

  // Some serve: every other one runs a graph of its own.
  bool are_served() const { return !servers.empty(); }
};

// All processes call it once, first of all that they do together. `trace`: the file that this one writes;
// empty: none. Throws InvalidArgument where they cannot work together: one does something else, or two write
// the same file.
Roles ShareRoles(exec::Transport* transport, bool serves, const std::string& trace);

// Throws FailedPrecondition unless the machine has a task for every process, with physical GPUs of its own.
// All processes call it.
void RequireTasks(const Machine& machine, exec::Transport* transport);

// As Place, for the task `client`: of the machine's devices its own come first, and those of tasks that do
// not serve are not there.
PlacedGraph PlaceForClient(const Workload& workload, const std::string& strategy, const Machine& machine,
                           int client, const std::vector<int>& servers, const CostModel& costs,
                           const PlaceOptions& options = {});

// Names the nodes that give variables of the task's own devices their values, of those that the run
// configuration initialises; they run without what else they are grouped with.
std::vector<std::string> InitOfTask(const PlacedGraph& placed, const Machine& machine, int task);

}  // namespace lanescope::study
