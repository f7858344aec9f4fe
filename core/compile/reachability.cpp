#include "core/compile/reachability.h"

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
}

void Reachability::MarkFrom(int command) {
  ++epoch_;
  stack_ = {command};
  while (!stack_.empty()) {
    const int c = stack_.back();
    stack_.pop_back();
    successors_.ForEach(c, [&](int successor) {
      if (mark_[static_cast<size_t>(successor)] == epoch_) return;
      mark_[static_cast<size_t>(successor)] = epoch_;
      stack_.push_back(successor);
    });
  }
}

}  // namespace lanescope::compile
