// SPDX-License-Identifier: Apache-2.0
#include "traces/record/launch_audit.h"

#include <algorithm>

#include "traces/record/activity_rows.h"

namespace lanescope::traces {
namespace {

// A power of two. Correlation ids grow by one a call.
constexpr size_t kRemembered = size_t{1} << 20;
constexpr size_t kMaxWaiting = size_t{1} << 18;

}  // namespace

LaunchAudit::Entry& LaunchAudit::At(uint32_t correlation) {
  if (entries_.empty()) entries_.resize(kRemembered);
  Entry& entry = entries_[correlation % kRemembered];
  if (entry.correlation != correlation) entry = {correlation, false, false, 0};
  return entry;
}

void LaunchAudit::Compare(int64_t call_ns, int64_t kernel_ns) {
  ++pairs_;
  if (kernel_ns >= call_ns) return;
  ++violations_;
  worst_ns_ = std::max(worst_ns_, call_ns - kernel_ns);
}

void LaunchAudit::AddCall(uint32_t correlation, int64_t start_ns) {
  if (correlation == 0) return;
  Entry& entry = At(correlation);
  if (entry.called) return;
  entry.called = true;
  if (entry.ran) Compare(start_ns, entry.start_ns);
  entry.start_ns = start_ns;
}

void LaunchAudit::AddKernel(uint32_t correlation, int64_t start_ns) {
  if (correlation == 0) return;
  Entry& entry = At(correlation);
  if (entry.called && !entry.ran) Compare(entry.start_ns, start_ns);
  if (!entry.called && !entry.ran) entry.start_ns = start_ns;
  entry.ran = true;
}

int64_t LaunchAudit::CountUnmatched() {
  return std::count_if(entries_.begin(), entries_.end(), [this](const Entry& entry) {
    return entry.correlation != 0 && entry.called && !entry.ran && !captures_.Hold(entry.start_ns);
  });
}

void TagJoin::AddTag(uint32_t correlation, uint64_t tag) {
  if (correlation == 0) return;
  if (entries_.empty()) entries_.resize(kRemembered);
  entries_[correlation % kRemembered] = {correlation, tag};
}

void TagJoin::AddGraphNode(uint64_t node, uint64_t tag) { graph_nodes_[node] = tag; }

std::optional<uint64_t> TagJoin::Find(uint32_t correlation, uint64_t graph_node) const {
  if (entries_.empty() || correlation == 0) return std::nullopt;
  const Entry& entry = entries_[correlation % kRemembered];
  if (entry.correlation != correlation) return std::nullopt;
  if (graph_node == 0) return entry.tag;
  const auto node = graph_nodes_.find(graph_node);
  if (node == graph_nodes_.end()) return std::nullopt;
  return MakeActivityTag(TagSchedule(entry.tag), TagStep(entry.tag), TagCommand(node->second));
}

void TagJoin::Wait(Waiting activity) {
  if (waiting_.size() >= kMaxWaiting) {
    ++given_up_;
  } else {
    waiting_.push_back(activity);
  }
}

std::vector<std::pair<TagJoin::Waiting, uint64_t>> TagJoin::TakeReady() {
  std::vector<std::pair<Waiting, uint64_t>> ready;
  std::erase_if(waiting_, [&](const Waiting& activity) {
    const std::optional<uint64_t> tag = Find(activity.correlation, activity.graph_node);
    if (tag) ready.emplace_back(activity, *tag);
    return tag.has_value();
  });
  return ready;
}

}  // namespace lanescope::traces
