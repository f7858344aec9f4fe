#include "sims/link_sharing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace lanescope::sims {

LinkSharing::LinkSharing(std::vector<double> capacities, int num_slots, int max_hops)
    : flows_(static_cast<size_t>(num_slots)),
      resources_(capacities.size()),
      positions_(static_cast<size_t>(num_slots) * static_cast<size_t>(max_hops)),
      max_hops_(max_hops) {
  for (size_t i = 0; i < capacities.size(); ++i) {
    LANESCOPE_CHECK(capacities[i] > 0);
    resources_[i].capacity = capacities[i];
  }
}

void LinkSharing::MarkDirty(int resource) {
  Resource& r = resources_[static_cast<size_t>(resource)];
  if (r.dirty) return;
  r.dirty = true;
  dirty_resources_.push_back(resource);
}

void LinkSharing::Start(int slot, Ticks now, std::span<const int> route, double bytes, double limit) {
  Flow& flow = flows_[static_cast<size_t>(slot)];
  LANESCOPE_CHECK(!flow.active && limit > 0 && static_cast<int>(route.size()) <= max_hops_);
  flow = {.remaining = bytes,
          .bound = limit,
          .updated = now,
          .route = route.data(),
          .hops = static_cast<int>(route.size()),
          .active = true,
          .fresh = true,
          .stamp = flow.stamp};
  for (int hop = 0; hop < flow.hops; ++hop) {
    Resource& resource = resources_[static_cast<size_t>(route[static_cast<size_t>(hop)])];
    flow.bound = std::min(flow.bound, resource.capacity);
    positions_[static_cast<size_t>(slot * max_hops_ + hop)] = static_cast<int>(resource.members.size());
    resource.members.push_back({slot, hop, 0});
    MarkDirty(route[static_cast<size_t>(hop)]);
  }
  for (const int resource : route)
    resources_[static_cast<size_t>(resource)].members.back().bound = flow.bound;
  LANESCOPE_CHECK(std::isfinite(flow.bound));
  dirty_slots_.push_back(slot);
}

void LinkSharing::End(int slot) {
  Flow& flow = flows_[static_cast<size_t>(slot)];
  LANESCOPE_CHECK(flow.active);
  flow.active = false;
  flow.finish = kNever;
  for (int hop = 0; hop < flow.hops; ++hop) {
    std::vector<Member>& members = resources_[static_cast<size_t>(flow.route[hop])].members;
    const int position = positions_[static_cast<size_t>(slot * max_hops_ + hop)];
    const Member last = members.back();
    members[static_cast<size_t>(position)] = last;
    positions_[static_cast<size_t>(last.slot * max_hops_ + last.hop)] = position;
    members.pop_back();
    MarkDirty(flow.route[hop]);
  }
}

void LinkSharing::SetSlowdown(int slot, double slowdown) {
  Flow& flow = flows_[static_cast<size_t>(slot)];
  if (flow.slowdown == slowdown) return;
  flow.slowdown = slowdown;
  slowed_slots_.push_back(slot);
}

void LinkSharing::AddSlot(int slot) {
  Flow& flow = flows_[static_cast<size_t>(slot)];
  if (flow.stamp == stamp_) return;
  flow.stamp = stamp_;
  component_.push_back(slot);
}

// One flow alone is bound by the resource already.
bool LinkSharing::CanBind(const Resource& resource) {
  if (resource.members.size() < 2) return false;
  double demand = 0;
  for (const Member& member : resource.members) demand += member.bound;
  return demand > resource.capacity;
}

// The flows whose rate may change: those on changed resources, and whatever shares a full resource with them.
void LinkSharing::CollectComponent() {
  component_.clear();
  binding_.clear();
  ++stamp_;
  for (const int index : dirty_resources_) {
    Resource& resource = resources_[static_cast<size_t>(index)];
    resource.dirty = false;
    resource.stamp = stamp_;
    for (const Member& member : resource.members) AddSlot(member.slot);
    if (CanBind(resource)) binding_.push_back(index);
  }
  dirty_resources_.clear();
  for (const int slot : dirty_slots_) {
    if (flows_[static_cast<size_t>(slot)].active) AddSlot(slot);
  }
  dirty_slots_.clear();
  for (size_t i = 0; i < component_.size(); ++i) {
    const Flow& flow = flows_[static_cast<size_t>(component_[i])];
    for (int hop = 0; hop < flow.hops; ++hop) {
      Resource& resource = resources_[static_cast<size_t>(flow.route[hop])];
      if (resource.stamp == stamp_) continue;
      resource.stamp = stamp_;
      if (!CanBind(resource)) continue;
      binding_.push_back(flow.route[hop]);
      for (const Member& member : resource.members) AddSlot(member.slot);
    }
  }
}

void LinkSharing::Fix(Flow* flow, double rate) {
  flow->fair = rate;
  for (int hop = 0; hop < flow->hops; ++hop) {
    Resource& resource = resources_[static_cast<size_t>(flow->route[hop])];
    resource.left -= rate;
    --resource.unfixed;
  }
}

// Progressive filling. In each round the water level is the smallest share among the resources that can bind.
// Flows whose own bound lies below it stop there; if there are none, the flows of the tightest resource
// stop at the level. Levels never fall, which keeps rounding from producing a rate of zero.
void LinkSharing::Fill() {
  for (const int index : binding_) {
    Resource& resource = resources_[static_cast<size_t>(index)];
    resource.left = resource.capacity;
    resource.unfixed = static_cast<int>(resource.members.size());
  }
  unfixed_.assign(component_.begin(), component_.end());
  double floor = 0;
  while (!unfixed_.empty()) {
    double level = std::numeric_limits<double>::infinity();
    int tightest = -1;
    for (const int index : binding_) {
      const Resource& resource = resources_[static_cast<size_t>(index)];
      if (resource.unfixed == 0) continue;
      const double share = resource.left / resource.unfixed;
      if (share < level) {
        level = share;
        tightest = index;
      }
    }
    level = std::max(level, floor);
    floor = level;
    size_t kept = 0;
    for (const int slot : unfixed_) {
      Flow& flow = flows_[static_cast<size_t>(slot)];
      if (flow.bound <= level) {
        Fix(&flow, flow.bound);
      } else {
        unfixed_[kept++] = slot;
      }
    }
    if (kept < unfixed_.size()) {
      unfixed_.resize(kept);
      continue;
    }
    kept = 0;
    for (const int slot : unfixed_) {
      Flow& flow = flows_[static_cast<size_t>(slot)];
      if (std::find(flow.route, flow.route + flow.hops, tightest) != flow.route + flow.hops) {
        Fix(&flow, level);
      } else {
        unfixed_[kept++] = slot;
      }
    }
    unfixed_.resize(kept);
  }
}

void LinkSharing::Retime(int slot, Ticks now) {
  Flow& flow = flows_[static_cast<size_t>(slot)];
  const double rate = flow.fair / flow.slowdown;
  if (rate == flow.rate && !flow.fresh) return;
  flow.remaining = std::max(0.0, flow.remaining - flow.rate * static_cast<double>(now - flow.updated));
  flow.updated = now;
  flow.rate = rate;
  flow.fresh = false;
  const double wait = std::min(flow.remaining / rate, static_cast<double>(kMaxTicks));
  flow.finish = now + static_cast<Ticks>(wait + 0.5);
  changed_.push_back(slot);
}

std::span<const int> LinkSharing::Solve(Ticks now) {
  changed_.clear();
  CollectComponent();
  Fill();
  for (const int slot : component_) Retime(slot, now);
  for (const int slot : slowed_slots_) {
    const Flow& flow = flows_[static_cast<size_t>(slot)];
    if (flow.active && flow.stamp != stamp_) Retime(slot, now);
  }
  slowed_slots_.clear();
  return changed_;
}

}  // namespace lanescope::sims
