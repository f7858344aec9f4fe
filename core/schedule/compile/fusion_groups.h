// SPDX-License-Identifier: Apache-2.0
// Commands of a draft that are to become one, and the graph of commands that would result. Private to the
// pass Fuse.
#pragma once

#include <vector>

#include "core/schedule/compile/draft.h"
#include "core/schedule/compile/linked_lists.h"

namespace lanescope::compile {

// A group is named by one of its commands. The graph of groups is acyclic from the start, and stays so while
// MayJoin is asked before Join.
class FusionGroups {
 public:
  explicit FusionGroups(const Draft& draft);

  // All commands, each after those that it waits for.
  const std::vector<CommandId>& order() const { return order_; }
  int Position(CommandId command) const { return position_[command]; }  // in this order

  CommandId Of(CommandId command) const { return group_[command]; }
  const std::vector<CommandId>& Members(CommandId group) const { return members_[group]; }  // in order
  CommandId First(CommandId group) const { return members_[group].front(); }
  CommandId Last(CommandId group) const { return members_[group].back(); }

  // Whether `a` and `b` may become one: no command outside of both is after one and before the other.
  // `is_light` (by command): what may come between the first command of either and the last at all, where
  // `b` waits for it; null: anything. False, too, where the answer would take long.
  bool MayJoin(CommandId a, CommandId b, const IdVector<CommandId, char>* is_light = nullptr);
  // The group of both; what was Of(member) is that from now on.
  CommandId Join(CommandId a, CommandId b);

  // Calls visit(command) for every command that waits for one of the group, outside of it.
  template <typename Visit>
  void ForDependents(CommandId group, Visit visit) const {
    for (const CommandId member : members_[group]) {
      successors_.ForEach(member, [&](CommandId next) {
        if (group_[next] != group) visit(next);
      });
    }
  }

 private:
  // Whether a way leads from `target` to `from` that leaves both, looking back from `from`.
  bool IsCutOff(CommandId from, CommandId target, const IdVector<CommandId, char>* is_light);

  void Sort();

  const Draft& draft_;
  LinkedLists<CommandId> successors_;
  std::vector<CommandId> order_;
  IdVector<CommandId, int> position_;
  // By position: whether a group has commands both before it and there or after it. Where none has, nothing
  // from there on leads to anything before.
  std::vector<char> is_spanned_;
  IdVector<CommandId, CommandId> group_;
  IdVector<CommandId, std::vector<CommandId>> members_;
  IdVector<CommandId, int> seen_;  // by group: the search that has met it
  int search_ = 0;
};

}  // namespace lanescope::compile
