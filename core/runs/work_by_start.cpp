// SPDX-License-Identifier: Apache-2.0
#include "core/runs/work_by_start.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace lanescope {

WorkItem ItemOf(const RunView& view, size_t number, uint32_t slice) {
  const RunView::Lane& lane = view.lanes[number];
  const int32_t op = lane.slices->op[slice];
  const bool communication = op >= 0 && view.ops[static_cast<size_t>(op)].communication;
  const WorkKind kind = lane.copies     ? WorkKind::kCopy
                        : communication ? WorkKind::kCommunication
                                        : WorkKind::kLaunch;
  return {kind, static_cast<int>(number), slice, lane.slices->start_ns[slice], lane.slices->end_ns[slice]};
}

bool ComesBefore(const RunView& view, const WorkItem& a, const WorkItem& b) {
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  if (a.end_ns != b.end_ns) return a.end_ns < b.end_ns;
  const auto identity = [&view](const WorkItem& item) {
    const RunView::Lane& lane = view.lanes[static_cast<size_t>(item.lane)];
    const int32_t op = lane.slices->op[item.slice];
    return std::tuple(lane.slices->CommandOf(item.slice), item.kind,
                      view.devices[static_cast<size_t>(lane.device)].id,
                      op < 0 ? std::string_view() : view.ops[static_cast<size_t>(op)].name);
  };
  return identity(a) < identity(b);
}

WorkByStart::WorkByStart(const RunView& view) : view_(view), lanes_(view.lanes.size()) {
  for (size_t l = 0; l < lanes_.size(); ++l) {
    const auto count = static_cast<uint32_t>(view.lanes[l].slices->size());
    const auto before = [&](uint32_t a, uint32_t b) {
      return ComesBefore(view, ItemOf(view, l, a), ItemOf(view, l, b));
    };
    bool in_order = true;
    for (uint32_t i = 1; i < count && in_order; ++i) in_order = !before(i, i - 1);
    if (!in_order) {
      std::vector<uint32_t>& order = lanes_[l].order;
      order.resize(count);
      std::iota(order.begin(), order.end(), 0u);
      std::stable_sort(order.begin(), order.end(), before);
    }
    Push(l);
  }
}

bool WorkByStart::Later(const WorkItem& a, const WorkItem& b) const {
  if (ComesBefore(view_, b, a)) return true;
  return !ComesBefore(view_, a, b) && a.lane > b.lane;
}

void WorkByStart::Push(size_t lane) {
  Lane& from = lanes_[lane];
  if (from.next == view_.lanes[lane].slices->size()) return;
  const uint32_t slice = from.order.empty() ? from.next : from.order[from.next];
  ++from.next;
  heap_.push_back(ItemOf(view_, lane, slice));
  std::push_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return Later(a, b); });
}

bool WorkByStart::Next(WorkItem* item) {
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return Later(a, b); });
  *item = heap_.back();
  heap_.pop_back();
  Push(static_cast<size_t>(item->lane));
  return true;
}

}  // namespace lanescope
