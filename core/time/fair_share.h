// SPDX-License-Identifier: Apache-2.0
// How concurrent copies share links and buses: max-min fairness. Internal to core and sims.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/time/ticks.h"

namespace lanescope {

// Flows over resources of fixed capacity. The rates are the max-min fair ones: no flow's rate can rise
// without lowering that of a flow that is not faster. They are found by progressive filling: all rates rise
// together; a flow stops when it reaches its own limit or one of its resources is full.
//
// Incremental: a start or an end recomputes only the flows that it can reach over resources that are full.
// A resource that could carry the limits of all its flows together does not bind: it passes nothing on, and a
// change on it that leaves it so concerns none of its other flows.
//
// Flows are named by slots 0..num_slots-1 chosen by the caller, one flow at a time in each. Changes are
// collected until Solve, so that all changes of one instant cost one solution. Deterministic: the same
// calls give the same bits. Owned and used by one thread.
class FairShare {
 public:
  // `capacities` in bytes per tick, each positive. A route has at most `max_hops` resources.
  FairShare(std::vector<double> capacities, int num_slots, int max_hops);

  // A flow of `bytes` over the distinct resources of `route` (which must outlive the flow), never faster than
  // `limit` bytes per tick. An empty route runs at the limit.
  void Start(int slot, Ticks now, std::span<const int> route, double bytes, double limit);
  // Ends or aborts the flow.
  void End(int slot);
  // The flow moves at its fair rate divided by `slowdown` from the next Solve on. What it leaves unused is
  // not handed to others: the slow party holds the link.
  void SetSlowdown(int slot, double slowdown);

  bool dirty() const { return !dirty_resources_.empty() || !dirty_slots_.empty() || !slowed_slots_.empty(); }
  // Applies the changes since the last call at time `now`; returns the slots whose finish() changed, valid
  // until the next call.
  std::span<const int> Solve(Ticks now);

  // When the flow will have moved all its bytes if nothing changes. Valid after Solve.
  Ticks finish(int slot) const { return flows_[static_cast<size_t>(slot)].finish; }
  // Bytes per tick, after the slowdown.
  double rate(int slot) const { return flows_[static_cast<size_t>(slot)].rate; }

 private:
  struct Flow {
    double remaining = 0;  // bytes at `updated`
    double rate = 0;
    double fair = 0;   // max-min rate
    double bound = 0;  // the limit or the narrowest resource
    double slowdown = 1;
    Ticks updated = 0;
    Ticks finish = kNever;
    uint64_t links = 0;  // bits of its resources, where they are few
    const int* route = nullptr;
    int hops = 0;
    uint32_t stamp = 0;
    bool active = false;
    bool fresh = false;  // its time must be set even if its rate is unchanged
    bool fixed = false;  // has its rate, while filling
  };
  struct Member {
    int slot;
    int hop;
    double bound;  // of the flow
  };
  struct Resource {
    double capacity = 0;
    double left = 0;  // of the capacity, while filling
    int unfixed = 0;  // flows without a rate yet, while filling
    uint32_t stamp = 0;
    bool dirty = false;
    bool binds = false;  // its flows could take more than it has
    std::vector<Member> members;
  };

  static constexpr size_t kMostBits = 64;
  static uint64_t BitOf(int number) { return uint64_t{1} << (static_cast<size_t>(number) % kMostBits); }
  Flow& flow(int slot) { return flows_[static_cast<size_t>(slot)]; }
  Resource& resource(int number) { return resources_[static_cast<size_t>(number)]; }
  void MarkDirty(int number);
  void AddSlot(int slot) {
    Flow& added = flow(slot);
    if (added.stamp == stamp_) return;
    added.stamp = stamp_;
    added.fixed = false;
    component_.push_back(slot);
  }
  void AddMembers(const Resource& of);
  void CollectComponent();
  void Reach();
  void ReachByBits(uint64_t reached);
  static bool CanBind(const Resource& resource);
  void Fill();
  int Tightest(double* level);
  bool FixAtBounds(double level);
  void Fix(Flow* fixed, double rate);
  void Retime(int slot, Ticks now);

  std::vector<Flow> flows_;
  std::vector<Resource> resources_;
  std::vector<int> positions_;  // [slot * max_hops + hop]: index in the resource's members
  int max_hops_;
  uint32_t stamp_ = 0;
  size_t num_active_ = 0;     // flows
  size_t num_binding_ = 0;    // resources
  uint64_t all_binding_ = 0;  // their bits, where resources are few
  std::vector<int> dirty_resources_;
  std::vector<int> dirty_slots_;
  std::vector<int> slowed_slots_;  // whose fair rate stays
  std::vector<int> component_;     // slots
  std::vector<int> unfixed_;       // slots, while filling
  std::vector<int> binding_;       // resources of the component that bind
  std::vector<int> changed_;
};

}  // namespace lanescope
