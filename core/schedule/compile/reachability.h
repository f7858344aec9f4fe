// Which commands of a draft depend on a given one.
#pragma once

#include <vector>

#include "core/schedule/compile/draft.h"

namespace lanescope::compile {

// Says what depends on a command, directly or not. Holds the draft's edges of the time of its construction
// and those that are added to it.
class Reachability {
 public:
  explicit Reachability(size_t count) : successors_(count), mark_(count, 0), seen_(count, 0) {}
  explicit Reachability(const Draft& draft);
  void AddEdge(int from, int to) { successors_.Add(from, to); }
  void AddCommand();
  // Whether `to` depends on `from`. Looks at the nearest first: most of those asked for are near. Marks stay.
  bool Reaches(int from, int to);
  // Marks all that depends on the command, which itself is not marked, and forgets other marks.
  void MarkFrom(int command);
  bool Marked(int command) const { return mark_[static_cast<size_t>(command)] == epoch_; }
  // The same in steps: adds to the marks since Forget, and calls visit(c) for every c that it marks.
  void Forget() { ++epoch_; }
  template <typename Visit>
  void MarkMore(int command, Visit visit) {
    stack_ = {command};
    while (!stack_.empty()) {
      const int c = stack_.back();
      stack_.pop_back();
      successors_.ForEach(c, [&](int successor) {
        if (Marked(successor)) return;
        mark_[static_cast<size_t>(successor)] = epoch_;
        stack_.push_back(successor);
        visit(successor);
      });
    }
  }

 private:
  LinkedLists successors_;
  std::vector<int> mark_;
  std::vector<int> seen_;  // by Reaches
  std::vector<int> stack_;
  int epoch_ = 0;
  int search_ = 0;
};

}  // namespace lanescope::compile
