// Who uses which shared silicon at a moment of virtual time. Included by the simulator's loop alone.
#pragma once

#include <algorithm>
#include <vector>

#include "sims/lane_state.h"
#include "sims/simulation_plan.h"
#include "sims/simulator.h"
#include "sims/timer_tree.h"

namespace lanescope::sims {

// Owned and used by one loop. Changes of one instant are collected until Settle.
class DomainLoads {
 public:
  DomainLoads(const SimulationPlan& plan, const CommandCosts& costs)
      : plan_(plan), costs_(costs), loads_(plan.domains.size()), dirty_(plan.domains.size()) {}

  // The lane's command begins to use its domain.
  void Enter(const Lane& lane, int command, LaneState* state) {
    if (lane.domain < 0) return;
    const auto c = static_cast<size_t>(command);
    const bool copy = lane.kind == LaneKind::kCopy;
    state->active = true;
    state->load_class = copy                     ? WorkClass::kCopy
                        : costs_.classes.empty() ? WorkClass::kMemory
                                                 : costs_.classes[c];
    state->demand = copy || costs_.demands.empty() ? 1 : costs_.demands[c];
    state->cores = copy                   ? plan_.domains[static_cast<size_t>(lane.domain)].copy_cores
                   : costs_.cores.empty() ? lane.cores
                                          : costs_.cores[c];
    Add(lane.domain, *state, +1);
  }
  void Leave(const Lane& lane, LaneState* state) {
    if (!state->active) return;
    state->active = false;
    Add(lane.domain, *state, -1);
  }

  // How long the sleeping driver of a lane, woken now, waits for a core. It wakes on each core with the same
  // probability; where a launch runs, it waits for its end or for the end of its time slice.
  Ticks CoreWait(int lane, const std::vector<LaneState>& lanes, const TimerTree& timers, Ticks now) const {
    const int domain = plan_.lanes[static_cast<size_t>(lane)].domain;
    if (domain < 0) return 0;
    const InterferenceMatrix& matrix = plan_.domains[static_cast<size_t>(domain)];
    if (matrix.slice_ns <= 0 || matrix.cores <= 0) return 0;
    const Ticks slice = TicksOf(matrix.slice_ns);
    Ticks sum = 0;
    for (const int other : plan_.domain_lanes[static_cast<size_t>(domain)]) {
      const LaneState& state = lanes[static_cast<size_t>(other)];
      if (!state.active || state.load_class == WorkClass::kCopy) continue;
      sum += std::min(slice, timers.TimeOf(other) - now);
    }
    return std::min(slice, sum / matrix.cores);
  }

  // Calls slow(lane, slowdown) for every active lane of the domains that changed.
  template <typename Slow>
  void Settle(const std::vector<LaneState>& lanes, Slow slow) {
    if (!any_dirty_) return;
    any_dirty_ = false;
    for (size_t domain = 0; domain < dirty_.size(); ++domain) {
      if (!dirty_[domain]) continue;
      dirty_[domain] = 0;
      const DomainSlowdown slowdown(plan_.domains[domain], loads_[domain]);
      for (const int lane : plan_.domain_lanes[domain]) {
        const LaneState& state = lanes[static_cast<size_t>(lane)];
        if (!state.active) continue;
        slow(lane, slowdown.Of(state.load_class, state.demand));
      }
    }
  }

 private:
  void Add(int domain, const LaneState& state, int sign) {
    DomainLoad& load = loads_[static_cast<size_t>(domain)];
    load.demand[static_cast<size_t>(state.load_class)] += sign * state.demand;
    load.cores += sign * state.cores;
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
