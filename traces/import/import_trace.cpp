// SPDX-License-Identifier: Apache-2.0
#include "traces/import/import_trace.h"

#include "core/base/error.h"

namespace lanescope::traces {

void ImportTrace::LeaveOut(const std::string& named, int64_t count) {
  constexpr size_t kMostCategories = 20, kLongest = 60;
  const std::string category = named.size() <= kLongest ? named : named.substr(0, kLongest) + "..";
  const bool known = left_out.contains(category);
  left_out[category.empty() || (!known && left_out.size() >= kMostCategories) ? "others" : category] += count;
}

int ImportNames::Intern(std::string_view text) {
  const auto known = numbers_.find(text);
  if (known != numbers_.end()) return known->second;
  room_ -= std::ssize(text);
  if (room_ < 0) {
    Throw(Code::kResourceExhausted,
          "the trace has too many different names, shapes and call stacks; record a shorter time, or without "
          "stacks");
  }
  const int number = static_cast<int>(trace_.names.size());
  numbers_.emplace(text, number);
  trace_.names.emplace_back(text);
  return number;
}

void CheckImportGoesOn(const std::atomic<bool>* cancelled) {
  if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
    Throw(Code::kCancelled, "the import was interrupted");
  }
}

}  // namespace lanescope::traces
