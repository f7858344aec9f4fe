// SPDX-License-Identifier: Apache-2.0
#include "core/time/fair_share.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace lanescope {

FairShare::FairShare(std::vector<double> capacities, int num_slots, int max_hops)
    : flows_(static_cast<size_t>(num_slots)),
      resources_(capacities.size()),
      positions_(static_cast<size_t>(num_slots) * static_cast<size_t>(max_hops)),
      max_hops_(max_hops) {
  for (size_t i = 0; i < capacities.size(); ++i) {
    LANESCOPE_CHECK(capacities[i] > 0);
    resources_[i].capacity = capacities[i];
  }
}

void FairShare::MarkDirty(int number) {
  Resource& changed = resource(number);
  if (changed.dirty) return;
  changed.dirty = true;
  dirty_resources_.push_back(number);
}

void FairShare::Start(int slot, Ticks now, std::span<const int> route, double bytes, double limit) {
  Flow& started = flow(slot);
  LANESCOPE_CHECK(!started.active && limit > 0 && static_cast<int>(route.size()) <= max_hops_);
  started = {.remaining = bytes,
             .bound = limit,
             .updated = now,
             .route = route.data(),
             .hops = static_cast<int>(route.size()),
             .stamp = started.stamp,
             .active = true,
             .fresh = true};
  ++num_active_;
  for (int hop = 0; hop < started.hops; ++hop) {
    Resource& passed = resource(started.route[hop]);
    started.links |= BitOf(started.route[hop]);
    started.bound = std::min(started.bound, passed.capacity);
    positions_[static_cast<size_t>(slot * max_hops_ + hop)] = static_cast<int>(passed.members.size());
    passed.members.push_back({slot, hop, 0});
    MarkDirty(started.route[hop]);
  }
  for (const int number : route) resource(number).members.back().bound = started.bound;
  LANESCOPE_CHECK(std::isfinite(started.bound));
  dirty_slots_.push_back(slot);
}

void FairShare::End(int slot) {
  Flow& ended = flow(slot);
  LANESCOPE_CHECK(ended.active);
  ended.active = false;
  --num_active_;
  ended.finish = kNever;
  for (int hop = 0; hop < ended.hops; ++hop) {
    std::vector<Member>& members = resource(ended.route[hop]).members;
    const int position = positions_[static_cast<size_t>(slot * max_hops_ + hop)];
    const Member last = members.back();
    members[static_cast<size_t>(position)] = last;
    positions_[static_cast<size_t>(last.slot * max_hops_ + last.hop)] = position;
    members.pop_back();
    MarkDirty(ended.route[hop]);
  }
}

void FairShare::SetSlowdown(int slot, double slowdown) {
  Flow& slowed = flow(slot);
  if (slowed.slowdown == slowdown) return;
  slowed.slowdown = slowdown;
  slowed_slots_.push_back(slot);
}

void FairShare::AddMembers(const Resource& of) {
  if (component_.size() == num_active_) return;
  for (const Member& member : of.members) AddSlot(member.slot);
}

// One flow alone is bound by the resource already.
bool FairShare::CanBind(const Resource& resource) {
  if (resource.members.size() < 2) return false;
  double demand = 0;
  for (const Member& member : resource.members) {
    demand += member.bound;
    if (demand > resource.capacity) return true;
  }
  return false;
}

// The flows whose rate may change: new ones, those on changed resources that bind or did, and whatever shares
// a binding resource with them.
void FairShare::CollectComponent() {
  component_.clear();
  binding_.clear();
  ++stamp_;
  uint64_t reached = 0;
  for (const int number : dirty_resources_) {
    Resource& changed = resource(number);
    changed.dirty = false;
    const bool bound = changed.binds;
    changed.binds = CanBind(changed);
    num_binding_ += static_cast<size_t>(changed.binds) - static_cast<size_t>(bound);
    if (changed.binds != bound) all_binding_ ^= BitOf(number);
    if (!bound && !changed.binds) continue;
    changed.stamp = stamp_;
    reached |= BitOf(number);
    if (changed.binds) binding_.push_back(number);
    AddMembers(changed);
  }
  dirty_resources_.clear();
  for (const int slot : dirty_slots_) {
    if (flow(slot).active) AddSlot(slot);
  }
  dirty_slots_.clear();
  resources_.size() <= kMostBits ? ReachByBits(reached) : Reach();
}

void FairShare::Reach() {
  for (size_t i = 0; i < component_.size() && binding_.size() < num_binding_; ++i) {
    const Flow& passing = flow(component_[i]);
    for (int hop = 0; hop < passing.hops; ++hop) {
      Resource& passed = resource(passing.route[hop]);
      if (!passed.binds || passed.stamp == stamp_) continue;
      passed.stamp = stamp_;
      binding_.push_back(passing.route[hop]);
      AddMembers(passed);
    }
  }
}

// Reach for few resources, in the same order: routes are ascending.
void FairShare::ReachByBits(uint64_t reached) {
  for (size_t i = 0; i < component_.size() && binding_.size() < num_binding_; ++i) {
    for (uint64_t left = flow(component_[i]).links & all_binding_ & ~reached; left != 0; left &= left - 1) {
      const int number = std::countr_zero(left);
      reached |= BitOf(number);
      binding_.push_back(number);
      AddMembers(resource(number));
    }
  }
}

void FairShare::Fix(Flow* fixed, double rate) {
  fixed->fair = rate;
  fixed->fixed = true;
  for (int hop = 0; hop < fixed->hops; ++hop) {
    Resource& passed = resource(fixed->route[hop]);
    passed.left -= rate;
    --passed.unfixed;
  }
}

// The smallest share among the resources that bind, and whose it is; -1 when all their flows have a rate.
int FairShare::Tightest(double* level) {
  int tightest = -1;
  *level = std::numeric_limits<double>::infinity();
  for (const int number : binding_) {
    const Resource& binding = resource(number);
    if (binding.unfixed == 0) continue;
    const double share = binding.left / binding.unfixed;
    if (share >= *level) continue;
    *level = share;
    tightest = number;
  }
  return tightest;
}

// Flows whose own bound is not above the level stop there; false: there is none.
bool FairShare::FixAtBounds(double level) {
  size_t kept = 0;
  bool any = false;
  for (const int slot : unfixed_) {
    Flow& waiting = flow(slot);
    if (waiting.fixed) continue;
    if (waiting.bound <= level) {
      Fix(&waiting, waiting.bound);
      any = true;
    } else {
      unfixed_[kept++] = slot;
    }
  }
  unfixed_.resize(kept);
  return any;
}

// Progressive filling. In each round the water level is the smallest share among the resources that bind.
// Flows whose own bound lies below it stop there; if there are none, the flows of the tightest resource
// stop at the level. Levels never fall, which keeps rounding from producing a rate of zero.
void FairShare::Fill() {
  if (binding_.empty()) {
    for (const int slot : component_) flow(slot).fair = flow(slot).bound;
    return;
  }
  for (const int number : binding_) {
    Resource& binding = resource(number);
    binding.left = binding.capacity;
    binding.unfixed = static_cast<int>(binding.members.size());
  }
  unfixed_.assign(component_.begin(), component_.end());
  double floor = 0;
  while (true) {
    double level = 0;
    const int tightest = Tightest(&level);
    level = floor = std::max(level, floor);
    const bool any = FixAtBounds(level);
    if (unfixed_.empty()) return;
    if (any) continue;
    // Often one resource holds up all that are left.
    if (static_cast<size_t>(resource(tightest).unfixed) == unfixed_.size()) {
      for (const int slot : unfixed_) flow(slot).fair = level;
      return;
    }
    for (const Member& member : resource(tightest).members) {
      Flow& waiting = flow(member.slot);
      if (!waiting.fixed) Fix(&waiting, level);
    }
  }
}

void FairShare::Retime(int slot, Ticks now) {
  Flow& timed = flow(slot);
  const double rate = timed.slowdown == 1 ? timed.fair : timed.fair / timed.slowdown;
  if (rate == timed.rate && !timed.fresh) return;
  timed.remaining = std::max(0.0, timed.remaining - timed.rate * static_cast<double>(now - timed.updated));
  timed.updated = now;
  timed.rate = rate;
  timed.fresh = false;
  const double wait = std::min(timed.remaining / rate, static_cast<double>(kMaxTicks));
  timed.finish = now + static_cast<Ticks>(wait + 0.5);
  changed_.push_back(slot);
}

std::span<const int> FairShare::Solve(Ticks now) {
  changed_.clear();
  CollectComponent();
  Fill();
  for (const int slot : component_) Retime(slot, now);
  for (const int slot : slowed_slots_) {
    if (flow(slot).active && flow(slot).stamp != stamp_) Retime(slot, now);
  }
  slowed_slots_.clear();
  return changed_;
}

}  // namespace lanescope
