// SPDX-License-Identifier: Apache-2.0
// The events of a JSON trace, taken out of its text many at a time. Internal to traces.
#pragma once

#include <cstdint>
#include <functional>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "traces/import/event_list.h"

namespace lanescope::traces {

// Gives what another buffer gives, without the events that it can read itself, which it gives away. Where its
// list of events begins it reads windows of that: of each as many events as end in it, mended as StrictJson
// does where they are no JSON. What comes before and after the list, its last event, and all from a window
// on that it cannot read, passes. Not thread-safe.
class EventSieve : public std::streambuf {
 public:
  using OnPassed = std::function<void(int64_t bytes)>;
  // The source must outlive it. `on_passed` is told of what passes before it does. What the callbacks throw
  // passes.
  EventSieve(std::streambuf* source, EventList::OnEvent on_event, OnPassed on_passed);

  int64_t taken() const { return taken_; }    // events
  int64_t mended() const { return mended_; }  // texts, words and commas among those

 protected:
  int_type underflow() override;

 private:
  enum class State : uint8_t { kBefore, kWithin, kPassing };

  // False: the source has no more.
  bool Fill(size_t size);
  size_t EndOfHead();
  void TakeEvents();
  size_t LastEnd(size_t before) const;
  bool Take(size_t end);
  bool ReadList(std::string_view padded);

  std::streambuf& source_;
  EventList::OnEvent on_event_;
  OnPassed on_passed_;
  EventList list_;
  State state_ = State::kBefore;
  // Read and not given yet, behind a place for a bracket.
  std::string text_;
  std::string given_;
  // The place in the text before the list.
  size_t depth_ = 0;
  bool in_text_ = false, escaped_ = false;
  std::string key_;        // the text that ended last, of the outermost object
  std::string last_text_;  // that is being read
  bool begun_ = false;
  int64_t taken_ = 0, mended_ = 0;
};

}  // namespace lanescope::traces
