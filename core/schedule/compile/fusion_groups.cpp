// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/compile/fusion_groups.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>
#include <utility>

#include "core/base/error.h"

namespace lanescope::compile {
namespace {

// Groups that one search looks at. Chains are short; what lies far apart gains little.
constexpr int kLongestSearch = 2000;

}  // namespace

FusionGroups::FusionGroups(const Draft& draft)
    : draft_(draft),
      successors_(draft.commands.size()),
      position_(draft.commands.size(), -1),
      group_(draft.commands.size()),
      members_(draft.commands.size()),
      seen_(draft.commands.size(), 0) {
  for (const CommandId c : draft.commands.ids()) {
    group_[c] = c;
    members_[c] = {c};
    draft.dependencies.ForEach(c, [&](CommandId before) { successors_.Add(before, c); });
  }
  Sort();
}

// By number as far as that goes: copies that variables needed have the last ones. A command that computes
// again has the place of the one that needs it.
void FusionGroups::Sort() {
  using Place = std::pair<CommandId, CommandId>;  // its own, or the other command's; its number
  const auto place = [&](CommandId c) {
    const auto found = draft_.repeats.find(c);
    return Place(found == draft_.repeats.end() ? c : found->second, c);
  };
  IdVector<CommandId, int> waiting(group_.size(), 0);
  std::priority_queue<Place, std::vector<Place>, std::greater<>> ready;
  for (const CommandId c : group_.ids()) {
    draft_.dependencies.ForEach(c, [&](CommandId) { ++waiting[c]; });
    if (waiting[c] == 0) ready.push(place(c));
  }
  while (!ready.empty()) {
    const CommandId command = ready.top().second;
    ready.pop();
    position_[command] = static_cast<int>(order_.size());
    order_.push_back(command);
    successors_.ForEach(command, [&](CommandId next) {
      if (--waiting[next] == 0) ready.push(place(next));
    });
  }
  LANESCOPE_CHECK(order_.size() == group_.size());
  is_spanned_.assign(order_.size(), 0);
}

bool FusionGroups::IsCutOff(CommandId from, CommandId target, const IdVector<CommandId, char>* is_light) {
  ++search_;
  std::vector<CommandId> stack = {from};
  seen_[from] = search_;
  int looked_at = 0;
  bool free = true;
  int earliest = position_[First(target)];
  while (is_spanned_[static_cast<size_t>(earliest)] != 0) --earliest;
  while (free && !stack.empty()) {
    const CommandId group = stack.back();
    stack.pop_back();
    if (++looked_at > kLongestSearch) return false;
    if (is_light != nullptr && group != from && (*is_light)[group] == 0) return false;
    for (const CommandId member : members_[group]) {
      draft_.dependencies.ForEach(member, [&](CommandId before) {
        const CommandId next = group_[before];
        if (next == target && group != from) free = false;
        if (next == target || position_[Last(next)] < earliest || seen_[next] == search_) return;
        seen_[next] = search_;
        stack.push_back(next);
      });
    }
  }
  return free;
}

bool FusionGroups::MayJoin(CommandId a, CommandId b, const IdVector<CommandId, char>* is_light) {
  return IsCutOff(b, a, is_light) && IsCutOff(a, b, is_light);
}

CommandId FusionGroups::Join(CommandId a, CommandId b) {
  if (members_[a].size() < members_[b].size()) std::swap(a, b);
  for (const CommandId member : members_[b]) group_[member] = a;
  std::vector<CommandId> both;
  std::ranges::merge(
      members_[a], members_[b], std::back_inserter(both), {}, [&](CommandId c) { return position_[c]; },
      [&](CommandId c) { return position_[c]; });
  members_[a] = std::move(both);
  std::fill(is_spanned_.begin() + position_[First(a)] + 1, is_spanned_.begin() + position_[Last(a)] + 1, 1);
  members_[b].clear();
  return a;
}

}  // namespace lanescope::compile
