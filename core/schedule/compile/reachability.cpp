#include "core/schedule/compile/reachability.h"

namespace lanescope::compile {

Reachability::Reachability(const Draft& draft) : Reachability(draft.commands.size()) {
  successors_.Reserve(draft.commands.size(), draft.dependencies.num_items());
  for (int c = 0; c < draft.num_commands(); ++c) {
    draft.dependencies.ForEach(c, [&](int before) { AddEdge(before, c); });
  }
}

void Reachability::AddCommand() {
  successors_.AddList();
  mark_.push_back(0);
  seen_.push_back(0);
}

void Reachability::MarkFrom(int command) {
  Forget();
  MarkMore(command, [](int) {});
}

bool Reachability::Reaches(int from, int to) {
  ++search_;
  stack_ = {from};
  bool found = false;
  for (size_t next = 0; next < stack_.size() && !found; ++next) {
    successors_.ForEach(stack_[next], [&](int successor) {
      found |= successor == to;
      int& seen = seen_[static_cast<size_t>(successor)];
      if (seen == search_) return;
      seen = search_;
      stack_.push_back(successor);
    });
  }
  return found;
}

}  // namespace lanescope::compile
