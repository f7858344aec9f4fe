// SPDX-License-Identifier: Apache-2.0
#include "exec/messages/link_flows.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace lanescope::exec {
namespace {

constexpr double kEndless = 1e18;  // bytes per ns of what has no bandwidth of its own
constexpr double kNoBytes = 1e-3;  // less than this is an error of rounding

}  // namespace

LinkFlows::LinkFlows(const Machine& machine) {
  for (int r = 0; r < machine.num_resources(); ++r) {
    const double bandwidth = machine.ResourceBandwidth(r);
    capacity_.push_back(bandwidth > 0 ? bandwidth / 1e9 : kEndless);
  }
}

int LinkFlows::Begin(const Route& route, int64_t begin_ns, int64_t bytes) {
  const auto free = std::ranges::find(flows_, false, &Flow::used);
  const auto number = static_cast<int>(free - flows_.begin());
  Flow& flow = free != flows_.end() ? *free : flows_.emplace_back();
  flow = {};
  flow.used = true;
  flow.begin_ns = std::max(begin_ns, now_ns_);
  flow.left = static_cast<double>(bytes);
  flow.resources = route.resources;
  std::ranges::sort(flow.resources);
  const auto repeated = std::ranges::unique(flow.resources);
  flow.resources.erase(repeated.begin(), repeated.end());
  if (flow.begin_ns > begin_ns) {
    ShareOut();
    flow.left = std::max(0.0, flow.left - flow.rate * static_cast<double>(flow.begin_ns - begin_ns));
  }
  foreseen_ = false;
  return number;
}

void LinkFlows::Forget(int number) {
  Flow& flow = flows_[static_cast<size_t>(number)];
  const bool is_through = flow.end_ns >= 0;
  flow = {};
  if (is_through) return;
  ShareOut();
  foreseen_ = false;
}

int64_t LinkFlows::EndOf(const Flow& flow, int64_t now_ns) {
  if (flow.end_ns >= 0) return flow.end_ns;
  return now_ns + static_cast<int64_t>(std::ceil(std::max(0.0, flow.left - kNoBytes) / flow.rate));
}

// The earliest moment after which others share the links: one begins or is through.
int64_t LinkFlows::NextChange() const {
  int64_t next = INT64_MAX;
  for (const Flow& flow : flows_) {
    if (!flow.used || flow.end_ns >= 0) continue;
    next = std::min(next, flow.rate > 0 ? EndOf(flow, now_ns_) : flow.begin_ns);
  }
  return next;
}

void LinkFlows::MoveTo(int64_t now_ns) {
  while (true) {
    const int64_t next = std::min(NextChange(), now_ns);
    if (next > now_ns_) {
      for (Flow& flow : flows_) flow.left -= flow.rate * static_cast<double>(next - now_ns_);
      now_ns_ = next;
    }
    bool changed = false;
    for (Flow& flow : flows_) {
      if (!flow.used || flow.end_ns >= 0) continue;
      if (flow.rate > 0 && flow.left <= kNoBytes) {
        flow.end_ns = now_ns_;
        flow.rate = 0;
        changed = true;
      } else if (flow.rate == 0 && flow.begin_ns <= now_ns_) {
        changed = true;
      }
    }
    if (changed) {
      ShareOut();
    } else if (now_ns_ >= now_ns) {
      return;
    }
  }
}

int64_t LinkFlows::EndNs(int number) {
  if (!foreseen_) Foresee();
  const Flow& flow = flows_[static_cast<size_t>(number)];
  LANESCOPE_CHECK(flow.used);
  return flow.end_ns >= 0 ? flow.end_ns : flow.foreseen_ns;
}

// The time between now and all ends is played through on a copy.
void LinkFlows::Foresee() {
  LinkFlows later = *this;
  for (int64_t next = later.NextChange(); next < INT64_MAX; next = later.NextChange()) later.MoveTo(next);
  for (size_t i = 0; i < flows_.size(); ++i) flows_[i].foreseen_ns = later.flows_[i].end_ns;
  foreseen_ = true;
}

// Progressive filling: the tightest resource gives each that passes it the same, and so on with what is left.
void LinkFlows::ShareOut() {
  std::vector<Flow*> open;
  for (Flow& flow : flows_) {
    flow.rate = 0;
    if (flow.used && flow.end_ns < 0 && flow.begin_ns <= now_ns_) open.push_back(&flow);
  }
  std::vector<double> left = capacity_;
  std::vector<int> passing(capacity_.size(), 0);
  for (const Flow* flow : open) {
    for (const int resource : flow->resources) ++passing[static_cast<size_t>(resource)];
  }
  const auto share_of = [&](int resource) {
    const auto r = static_cast<size_t>(resource);
    return std::max(0.0, left[r]) / passing[r];
  };
  while (!open.empty()) {
    double level = kEndless;
    for (const Flow* flow : open) {
      for (const int resource : flow->resources) level = std::min(level, share_of(resource));
    }
    // Flows that no resource would give more are done with.
    std::erase_if(open, [&](Flow* flow) {
      const bool bound = flow->resources.empty() || std::ranges::any_of(flow->resources, [&](int resource) {
                           return share_of(resource) <= level * (1 + 1e-12);
                         });
      if (bound) flow->rate = std::max(level, 1e-9);
      return bound;
    });
    for (size_t r = 0; r < left.size(); ++r) {
      left[r] = capacity_[r];
      passing[r] = 0;
    }
    for (const Flow& flow : flows_) {
      if (!flow.used) continue;
      const bool is_open = std::ranges::find(open, &flow) != open.end();
      for (const int resource : flow.resources) {
        left[static_cast<size_t>(resource)] -= flow.rate;
        passing[static_cast<size_t>(resource)] += is_open;
      }
    }
  }
}

}  // namespace lanescope::exec
