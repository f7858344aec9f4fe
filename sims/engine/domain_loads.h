// SPDX-License-Identifier: Apache-2.0
// The users of shared silicon at one point of virtual time. Included by the simulator's loop alone.
// Internal to sims.
#pragma once

#include <algorithm>
#include <vector>

#include "core/time/timer_tree.h"
#include "sims/engine/effect_constants.h"
#include "sims/engine/server_state.h"
#include "sims/engine/simulation_plan.h"
#include "sims/engine/simulator.h"

namespace lanescope::sims {

// Owned and used by one loop. Changes of one instant are collected until Settle.
class DomainLoads {
 public:
  DomainLoads(const SimulationPlan& plan, const CommandCosts& costs)
      : plan_(plan), costs_(costs), loads_(plan.domains.size()), dirty_(plan.domains.size()) {}

  // The server's command begins to use its domain.
  void Enter(const Server& server, CommandId command, ServerState* state) {
    if (server.domain < 0) return;
    const bool copy = server.kind == QueueClass::kCopy || server.kind == QueueClass::kMessage;
    state->active = true;
    state->load_class = copy                     ? WorkClass::kCopy
                        : costs_.classes.empty() ? WorkClass::kMemory
                                                 : costs_.classes[command];
    const InterferenceMatrix& matrix = plan_.domains[static_cast<size_t>(server.domain)];
    const bool moves = copy || (matrix.pieces > 0 && state->load_class == WorkClass::kCopy);
    state->cores = moves ? matrix.copy_cores : costs_.cores.empty() ? server.cores : costs_.cores[command];
    Add(server.domain, *state, +1);
  }
  // A progress thread begins to work, on one core.
  void EnterProgressThread(const Server& progress_thread, ServerState* state) {
    if (progress_thread.domain < 0) return;
    state->active = true;
    state->load_class = WorkClass::kMemory;
    state->is_progress_thread = true;
    state->cores = 1;
    Add(progress_thread.domain, *state, +1);
  }
  void Leave(const Server& server, ServerState* state) {
    if (!state->active) return;
    state->active = false;
    Add(server.domain, *state, -1);
  }

  // How long the sleeping driver of a server, woken now, waits for a core. It wakes on each core with the
  // same probability; where a launch (on as many cores as it asks for) or a progress thread runs, it waits
  // for its end or for the end of its time slice. Threads whose slices do not end are given a free core at
  // once, and wait for the first launch to end where there is none.
  Ticks RunQueueDelay(int server, const std::vector<ServerState>& servers, const TimerTree& timers,
                      Ticks now) const {
    const int domain = plan_.servers[static_cast<size_t>(server)].domain;
    if (domain < 0) return 0;
    const InterferenceMatrix& matrix = plan_.domains[static_cast<size_t>(domain)];
    if (matrix.slice_ns <= 0 || matrix.cores <= 0) return 0;
    const Ticks slice = TicksOf(matrix.slice_ns);
    double sum = 0, busy = 0;
    Ticks least = slice;
    for (const int other : plan_.domain_servers[static_cast<size_t>(domain)]) {
      const ServerState& state = servers[static_cast<size_t>(other)];
      if (!state.active || state.load_class == WorkClass::kCopy) continue;
      const Ticks left = std::min(slice, timers.TimeOf(other) - now);
      busy += state.cores;
      least = std::min(least, left);
      sum += state.cores * static_cast<double>(left);
    }
    if (matrix.slice_ns >= kEffectConstants.endless_slice_ns) return busy >= matrix.cores ? least : 0;
    return std::min(slice, static_cast<Ticks>(sum / matrix.cores));
  }

  // A driver that slept is being woken, which takes a core; or it is awake.
  void BeginWaking(int domain) { AddCores(domain, +1, false); }
  void EndWaking(int domain) { AddCores(domain, -1, false); }
  // How much longer that takes for the copies that wake on that core too. (What runs there is
  // RunQueueDelay's.)
  double WakingSlowdown(int domain) const {
    if (domain < 0) return 1;
    const InterferenceMatrix& matrix = plan_.domains[static_cast<size_t>(domain)];
    const int copies = loads_[static_cast<size_t>(domain)].active[static_cast<size_t>(WorkClass::kCopy)];
    return matrix.cores > 0 ? 1 + copies * matrix.copy_cores / matrix.cores : 1;
  }

  // Calls slow(server, slowdown) for every active server of the domains that changed.
  template <typename Slow>
  void Settle(const std::vector<ServerState>& servers, Slow slow) {
    if (!any_dirty_) return;
    any_dirty_ = false;
    for (size_t domain = 0; domain < dirty_.size(); ++domain) {
      if (!dirty_[domain]) continue;
      dirty_[domain] = 0;
      const DomainSlowdown slowdown(plan_.domains[domain], loads_[domain]);
      for (const int server : plan_.domain_servers[domain]) {
        const ServerState& state = servers[static_cast<size_t>(server)];
        if (!state.active) continue;
        slow(server, state.is_progress_thread ? slowdown.OfProgressThread() : slowdown.Of(state.load_class));
      }
    }
  }

 private:
  void Add(int domain, const ServerState& state, int sign) {
    DomainLoad& load = loads_[static_cast<size_t>(domain)];
    load.active[static_cast<size_t>(state.load_class)] += sign;
    load.asked[static_cast<size_t>(state.load_class)] += sign * state.cores;
    AddCores(domain, sign * state.cores, state.load_class == WorkClass::kCopy || state.is_progress_thread);
  }
  void AddCores(int domain, double cores, bool restless) {
    if (domain < 0) return;
    loads_[static_cast<size_t>(domain)].cores += cores;
    if (restless) loads_[static_cast<size_t>(domain)].restless += cores;
    dirty_[static_cast<size_t>(domain)] = 1;
    any_dirty_ = true;
  }

  const SimulationPlan& plan_;
  const CommandCosts& costs_;
  std::vector<DomainLoad> loads_;
  std::vector<char> dirty_;
  bool any_dirty_ = false;
};

}  // namespace lanescope::sims
