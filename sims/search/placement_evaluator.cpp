// SPDX-License-Identifier: Apache-2.0
#include "sims/search/placement_evaluator.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace lanescope::sims {

PlacementEvaluator::PlacementEvaluator(const PlacementModel& model)
    : m_(model), layout_(model), run_(model, layout_) {
  log_.at_end.resize(model.group_.size());
  base_log_.at_end.resize(model.group_.size());
  if (model.memory_can_run_out_) state_bytes_.resize(IndexOf(model.devices_));
}

// False: what a device holds all the time is more than it may.
bool PlacementEvaluator::HoldState(const PlacementState& state, double memory_share) {
  if (!m_.memory_can_run_out_) return true;
  std::fill(state_bytes_.begin(), state_bytes_.end(), 0);
  for (size_t g = 0; g < state.device.size(); ++g)
    state_bytes_[state.device[g]] += m_.tasks_.groups()[g].persistent_bytes;
  bool fits = true;
  for (const DeviceId d : state_bytes_.ids()) {
    const int64_t limit = m_.tasks_.machine().device(d).memory_bytes;
    const int64_t most = limit > 0 ? static_cast<int64_t>(memory_share * static_cast<double>(limit))
                                   : std::numeric_limits<int64_t>::max();
    fits &= state_bytes_[d] <= most;
    run_.SetRoom(d, most - state_bytes_[d]);
  }
  return fits;
}

// Whether a task of a group that moved reads a copy of what no task makes, now or in the base.
bool PlacementEvaluator::ReadsCopy(const TaskRead& read, int group) const {
  const int holder = m_.tensor(read.tensor).group;
  const DeviceId was = m_.tasks_.PlaceOf(read, base_.device[IndexOf(group)]);
  const DeviceId was_home = holder < 0 ? m_.host_ : base_.device[IndexOf(holder)];
  const DeviceId is = m_.tasks_.PlaceOf(read, layout_.device(m_.tasks_.group(group).tasks.front()));
  return was != was_home || is != layout_.home(read.tensor);
}

// How many of the first `shared` moments of the base come before the end of all that an item waits for which
// comes, goes or moves with the group. What begins with the step and differs leaves none.
int PlacementEvaluator::MomentsBefore(int group, int shared) const {
  const auto end_of = [&](int task) { shared = std::min(shared, base_log_.at_end[IndexOf(task)]); };
  for (const int task : m_.tasks_.group(group).tasks) {
    const GraphTask& moved = m_.tasks_.task(task);
    if (m_.waits_[IndexOf(task)] == 0) return 0;
    for (const int before : moved.after) end_of(before);
    for (const TaskRead& read : moved.reads) {
      const int producer = m_.tensor(read.tensor).producer;
      if (producer >= 0) {
        end_of(producer);
      } else if (ReadsCopy(read, group)) {
        return 0;
      }
    }
  }
  for (const int tensor : m_.tensors_of_[group]) {
    for (const int before : m_.tasks_.tensor(tensor).copied_after) end_of(before);
    if (m_.tensor(tensor).producer >= 0 || m_.tensor(tensor).group != group) continue;
    if (m_.tensor(tensor).fetch >= 0) return 0;
    for (const PlacementModel::Use& use : m_.uses_[tensor]) {
      const int reader = m_.group_[IndexOf(use.task)];
      const DeviceId was = m_.PlaceOf(use, base_.device[IndexOf(reader)]);
      const DeviceId is = m_.PlaceOf(use, layout_.device(use.task));
      if (was != base_.device[IndexOf(group)] || is != layout_.home(tensor)) return 0;
    }
  }
  return shared;
}

// The checkpoints at which every in-order queue had picked nothing behind the first item by which its order
// differs.
int PlacementEvaluator::CheckpointsBeforeOrders(int shared) const {
  for (size_t q = 0; q < base_orders_.size(); ++q) {
    const std::vector<int>&before = base_orders_[q], &now = layout_.orders()[q];
    const auto differ = std::mismatch(before.begin(), before.end(), now.begin(), now.end());
    if (differ.first == before.end() && differ.second == now.end()) continue;
    const auto first = static_cast<int>(differ.first - before.begin());
    // A ready item may wait for the item that differs.
    const auto is_shared = [&](const KeptCheckpoint& kept) {
      const int next = kept.moment.next[q];
      return next < first || (next == first && kept.ready[q].empty());
    };
    while (shared > 0 && !is_shared(base_log_.kept[IndexOf(shared - 1)])) --shared;
  }
  return shared;
}

// How many moments the layout's run shares with that of the base.
int PlacementEvaluator::SharedMoments(const PlacementState& state, double memory_share) const {
  if (!has_base_ || memory_share != base_share_ || state.priority != base_.priority) return 0;
  int shared = base_log_.count;
  for (size_t g = 0; g < state.device.size() && shared > 0; ++g) {
    if (state.device[g] != base_.device[g]) shared = MomentsBefore(static_cast<int>(g), shared);
  }
  return m_.any_in_order_ ? CheckpointsBeforeOrders(shared) : shared;
}

// The state becomes the base.
void PlacementEvaluator::Rebase(const PlacementState& state, double memory_share, int shared) {
  base_.device = state.device;
  if (!has_base_ || base_.priority != state.priority) base_.priority = state.priority;
  has_base_ = true;
  base_share_ = memory_share;
  base_log_.count = log_.count;
  std::swap(base_log_.at_end, log_.at_end);
  base_log_.kept.reserve(log_.kept.size());
  for (size_t k = IndexOf(shared); k < IndexOf(log_.count); ++k) {
    if (k == base_log_.kept.size()) {
      base_log_.kept.push_back(log_.kept[k]);
    } else {
      std::swap(base_log_.kept[k], log_.kept[k]);
    }
  }
  if (m_.any_in_order_) base_orders_ = layout_.orders();
}

int64_t PlacementEvaluator::Evaluate(const PlacementState& state, int64_t limit_ns, double memory_share) {
  const int64_t around = m_.delays_.step_start_ns + m_.delays_.step_finish_ns;
  layout_.Change(state);
  if (!HoldState(state, memory_share)) return kTooLong;
  const int shared = SharedMoments(state, memory_share);
  log_.count = shared;
  if (shared == 0) {
    run_.Begin();
  } else {
    const PlacementCheckpoint& moment = base_log_.kept[IndexOf(shared - 1)].moment;
    for (const DeviceId d : moment.most_held.ids()) {
      if (moment.most_held[d] > run_.room(d)) return kTooLong;
    }
    log_.at_end = base_log_.at_end;
    run_.GoOnFrom(base_log_.kept[IndexOf(shared - 1)]);
    spared_ += moment.ended;
  }
  const int64_t end = run_.ToEnd(limit_ns - around, &log_);
  if (end == kTooLong || end + around > limit_ns) return kTooLong;
  Rebase(state, memory_share, shared);
  return end + around;
}

}  // namespace lanescope::sims
