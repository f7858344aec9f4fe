#include "core/compile/reachability.h"

namespace lanescope::compile {

Reachability::Reachability(const Draft& draft) : Reachability(draft.commands.size()) {
  for (size_t c = 0; c < draft.commands.size(); ++c) {
    for (const int before : draft.commands[c].after) AddEdge(before, static_cast<int>(c));
  }
}

void Reachability::AddCommand() {
  successors_.emplace_back();
  mark_.push_back(0);
}

void Reachability::MarkFrom(int command) {
  ++epoch_;
  stack_ = {command};
  while (!stack_.empty()) {
    const int c = stack_.back();
    stack_.pop_back();
    for (const int next : successors_[static_cast<size_t>(c)]) {
      if (mark_[static_cast<size_t>(next)] == epoch_) continue;
      mark_[static_cast<size_t>(next)] = epoch_;
      stack_.push_back(next);
    }
  }
}

}  // namespace lanescope::compile
