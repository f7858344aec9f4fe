// SPDX-License-Identifier: Apache-2.0
// JSON lists of events, read by simdjson. Internal to traces.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "traces/import/event_fields.h"

namespace lanescope::traces {

// Not thread-safe.
class EventList {
 public:
  using OnEvent = std::function<void(const ChromeEvent&)>;
  // Bytes behind a list that may be read, whatever they are.
  static const size_t kPadding;

  EventList();
  ~EventList();
  // Gives the objects of the list that `text` is, one by one; they are no longer there after the call. False:
  // it is no JSON, or too deep, and none was given. What the callback throws passes.
  bool Read(std::string_view padded, const OnEvent& on_event);

 private:
  struct Parsers;
  std::unique_ptr<Parsers> parsers_;
};

// Without the blanks between its values.
std::string MinifiedJson(std::string_view json);

}  // namespace lanescope::traces
