// SPDX-License-Identifier: Apache-2.0
// States one after the other, with undo and redo: of edits of a run, of the knobs of a replay.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace lanescope::gui {

// The first state is the unedited one, which is never forgotten. Empty until it is started.
template <typename State>
class EditHistory {
 public:
  void Start(State first) {
    states_.clear();
    states_.push_back(std::move(first));
    position_ = 0;
    in_gesture_ = false;
  }
  void Clear() {
    states_.clear();
    position_ = 0;
    in_gesture_ = false;
  }

  bool empty() const { return states_.empty(); }
  const State& first() const { return states_.front(); }
  const State& current() const { return states_[position_]; }
  bool is_first() const { return position_ == 0; }
  // Null: there is none to redo.
  const State* next() const { return CanRedo() ? &states_[position_ + 1] : nullptr; }
  bool CanUndo() const { return position_ > 0; }
  bool CanRedo() const { return position_ + 1 < states_.size(); }
  // The current state goes on changing, until something else is done.
  bool in_gesture() const { return in_gesture_ && position_ > 0; }

  // Behind the current state, or in its place; what could be redone is forgotten. A gesture begins, or goes
  // on.
  void Push(State state, bool replaces_current) {
    states_.resize(replaces_current ? position_ : position_ + 1);
    states_.push_back(std::move(state));
    if (states_.size() > kMostStates) states_.erase(states_.begin() + 1);
    position_ = states_.size() - 1;
    in_gesture_ = true;
  }
  void EndGesture() { in_gesture_ = false; }
  // False: there is nothing to undo.
  bool Undo() {
    if (!CanUndo()) return false;
    --position_;
    in_gesture_ = false;
    return true;
  }
  bool Redo() {
    if (!CanRedo()) return false;
    ++position_;
    in_gesture_ = false;
    return true;
  }

 private:
  static constexpr size_t kMostStates = 500;

  std::vector<State> states_;
  size_t position_ = 0;  // of the current one
  bool in_gesture_ = false;
};

}  // namespace lanescope::gui
