// SPDX-License-Identifier: Apache-2.0
#include "gui/model/timeline_data.h"

#include <fmt/core.h>

#include <algorithm>

namespace lanescope::gui {

std::vector<OpIdentity> Timeline::Identify(const RunData& run) {
  std::vector<OpIdentity> identities;
  identities.reserve(run.ops.size());
  for (const OpEntry& op : run.ops) {
    const auto [found, added] = identity_of_.try_emplace(op.name, static_cast<OpIdentity>(names_.size()));
    if (added) names_.push_back(op.name);
    identities.push_back(found->second);
  }
  return identities;
}

RunKey Timeline::Add(std::shared_ptr<const RunData> run) {
  ShownRun shown;
  shown.key = next_key_++;
  shown.identities = Identify(*run);
  shown.title = run->title;
  shown.data = std::move(run);
  runs_.push_back(std::move(shown));
  ++version_;
  return runs_.back().key;
}

void Timeline::Replace(RunKey key, std::shared_ptr<const RunData> run) {
  const int index = IndexOf(key);
  if (index < 0) return;
  ShownRun& shown = runs_[static_cast<size_t>(index)];
  shown.identities = Identify(*run);
  shown.title = run->title;
  shown.data = std::move(run);
  ++version_;
}

void Timeline::Remove(RunKey key) {
  const int index = IndexOf(key);
  if (index < 0) return;
  runs_.erase(runs_.begin() + index);
  if (baseline_ == key) baseline_ = 0;
  ++version_;
}

void Timeline::Move(RunKey key, size_t index) {
  const int from = IndexOf(key);
  if (from < 0 || runs_.empty()) return;
  ShownRun run = std::move(runs_[static_cast<size_t>(from)]);
  runs_.erase(runs_.begin() + from);
  index = std::min(index, runs_.size());
  runs_.insert(runs_.begin() + static_cast<ptrdiff_t>(index), std::move(run));
  ++version_;
}

const ShownRun* Timeline::Find(RunKey key) const {
  const int index = IndexOf(key);
  return index < 0 ? nullptr : &runs_[static_cast<size_t>(index)];
}

int Timeline::IndexOf(RunKey key) const {
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i].key == key) return static_cast<int>(i);
  }
  return -1;
}

RunKey Timeline::baseline() const {
  if (baseline_ != 0) return baseline_;
  return runs_.empty() ? 0 : runs_.front().key;
}

void Timeline::SetBaseline(RunKey key) {
  if (IndexOf(key) < 0) return;
  baseline_ = key;
  ++version_;
}

std::optional<double> Timeline::ChangeAgainstBaseline(RunKey key) const {
  const ShownRun* base = Find(baseline());
  const ShownRun* run = Find(key);
  if (base == nullptr || run == nullptr || base == run) return std::nullopt;
  if (base->data->step_ns <= 0 || run->data->step_ns <= 0) return std::nullopt;
  return static_cast<double>(run->data->step_ns) / static_cast<double>(base->data->step_ns) - 1;
}

bool Timeline::CannotTell(RunKey key) const {
  if (!ChangeAgainstBaseline(key)) return false;
  return lanescope::CannotTell(Find(baseline())->data->range(), Find(key)->data->range());
}

OpIdentity Timeline::FindIdentity(std::string_view name) const {
  const auto found = identity_of_.find(std::string(name));
  return found == identity_of_.end() ? -1 : found->second;
}

const std::string& Timeline::NameOf(OpIdentity identity) const {
  static const std::string none;
  return identity < 0 || static_cast<size_t>(identity) >= names_.size()
             ? none
             : names_[static_cast<size_t>(identity)];
}

int Timeline::OpIn(const ShownRun& run, OpIdentity identity) const {
  return identity < 0 ? -1 : run.data->FindOp(NameOf(identity));
}

OpIdentity Timeline::IdentityOf(const SliceRef& slice) const {
  const ShownRun* run = slice.valid() ? Find(slice.run) : nullptr;
  if (run == nullptr || static_cast<size_t>(slice.lane) >= run->data->lanes.size()) return -1;
  const Lane& lane = run->data->lanes[static_cast<size_t>(slice.lane)];
  if (slice.slice >= lane.size()) return -1;
  const int32_t op = lane.op[slice.slice];
  return op < 0 ? -1 : run->identities[static_cast<size_t>(op)];
}

}  // namespace lanescope::gui
