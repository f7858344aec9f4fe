// SPDX-License-Identifier: Apache-2.0
// Which commands of a draft depend on a given one, or which nodes of its graph.
#pragma once

#include <vector>

#include "core/schedule/compile/draft.h"

namespace lanescope::compile {

// Says what depends on a command (or node: `Key`), directly or not. Holds the draft's edges of the time of
// its construction and those that are added to it.
template <typename Key>
class Reachability {
 public:
  explicit Reachability(size_t count) : successors_(count), mark_(count, 0), seen_(count, 0) {}
  explicit Reachability(const Draft& draft) : Reachability(draft.commands.size()) {
    successors_.Reserve(draft.commands.size(), draft.dependencies.num_items());
    for (const Key c : draft.commands.ids()) {
      draft.dependencies.ForEach(c, [&](Key before) { AddEdge(before, c); });
    }
  }
  void AddEdge(Key from, Key to) { successors_.Add(from, to); }
  void Add() {
    successors_.AddList();
    mark_.Add(0);
    seen_.Add(0);
  }
  // Whether `to` depends on `from`. Looks at the nearest first: most of those asked for are near. Marks stay.
  bool Reaches(Key from, Key to) {
    ++search_;
    stack_ = {from};
    bool found = false;
    for (size_t next = 0; next < stack_.size() && !found; ++next) {
      successors_.ForEach(stack_[next], [&](Key successor) {
        found |= successor == to;
        int& seen = seen_[successor];
        if (seen == search_) return;
        seen = search_;
        stack_.push_back(successor);
      });
    }
    return found;
  }
  // Marks all that depends on it, which itself is not marked, and forgets other marks.
  void MarkFrom(Key from) {
    Forget();
    MarkMore(from, [](Key) {});
  }
  bool Marked(Key key) const { return mark_[key] == epoch_; }
  // Reachability in steps: adds to the marks since Forget, and calls visit(c) for every c that it marks.
  void Forget() { ++epoch_; }
  template <typename Visit>
  void MarkMore(Key from, Visit visit) {
    stack_ = {from};
    while (!stack_.empty()) {
      const Key c = stack_.back();
      stack_.pop_back();
      successors_.ForEach(c, [&](Key successor) {
        if (Marked(successor)) return;
        mark_[successor] = epoch_;
        stack_.push_back(successor);
        visit(successor);
      });
    }
  }

 private:
  LinkedLists<Key> successors_;
  IdVector<Key, int> mark_;
  IdVector<Key, int> seen_;  // by Reaches
  std::vector<Key> stack_;
  int epoch_ = 0;
  int search_ = 0;
};

}  // namespace lanescope::compile
