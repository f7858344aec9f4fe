// SPDX-License-Identifier: Apache-2.0
#include "study/measure/participation.h"

#include <utility>

#include "exec/calls/remote_tasks.h"
#include "study/job/mpi.h"

namespace lanescope::study {

struct Participation::Served {
  Served(exec::Transport* ranks, const Roles& roles)
      : tasks(ranks, roles.servers), separate(roles.servers, [this](int rank) {
          tasks.Lose(rank,
                     "has not answered for ten seconds: it was stopped, or its host or network is gone");
        }) {}

  exec::RemoteTasks tasks;
  SeparateRanks separate;  // one that is lost is told from a failed process
};

Participation::Participation(exec::Transport* ranks, const std::string& trace)
    : ranks_(ranks),
      roles_(ranks != nullptr ? ShareRoles(ranks, false, trace) : Roles()),
      job_(roles_.are_served() ? nullptr : ranks) {}

Participation::~Participation() = default;

PlacedGraph Participation::Place(const Workload& workload, const std::string& strategy,
                                 const Machine& machine, const CostModel& costs,
                                 const PlaceOptions& options) {
  if (!is_served()) return study::Place(workload, strategy, machine, costs, options);
  RequireTasks(machine, ranks_);
  served_ = std::make_unique<Served>(ranks_, roles_);
  return PlaceForClient(workload, strategy, machine, ranks_->rank(), roles_.servers, costs, options);
}

std::shared_ptr<Participant> Participation::MakeParticipant(Initializer initializer, Client client) {
  if (served_ == nullptr) return ProcessOfJob(&job_);
  client.servers = &served_->tasks;
  client.computers = roles_.computers;
  switch (initializer) {
    case Initializer::kFirst:
      client.initializer = roles_.clients.front();
      break;
    case Initializer::kEach:
      client.initializer = ranks_->rank();
      break;
    case Initializer::kNone:
      client.initializer = -1;
      break;
  }
  return ClientOfTasks(std::move(client));
}

}  // namespace lanescope::study
