// Which commands of a draft depend on a given one.
#pragma once

#include <vector>

#include "core/compile/draft.h"

namespace lanescope::compile {

// Marks everything that depends on a command, directly or not. Holds the draft's edges of the time of its
// construction and those that are added to it.
class Reachability {
 public:
  explicit Reachability(size_t count) : successors_(count), mark_(count, 0) {}
  explicit Reachability(const Draft& draft);
  void AddEdge(int from, int to) { successors_.Add(from, to); }
  void AddCommand();
  void MarkFrom(int command);
  // Of the last MarkFrom. The command itself is not marked.
  bool Marked(int command) const { return mark_[static_cast<size_t>(command)] == epoch_; }

 private:
  LinkedLists successors_;
  std::vector<int> mark_;
  std::vector<int> stack_;
  int epoch_ = 0;
};

}  // namespace lanescope::compile
