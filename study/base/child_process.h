// SPDX-License-Identifier: Apache-2.0
// A program run to its end with a text on its standard input. Internal to study.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "study/base/cancellation.h"

namespace lanescope::study {

struct ChildLimits {
  int64_t timeout_ms = 600'000;
  Cancellation* cancellation = nullptr;
};

struct ChildResult {
  int status = 0;  // exit status, or 128 and the signal that ended it
  std::string output;
  std::string errors;  // the end of its standard error
};

// Runs `words[0]` (searched in PATH, no shell) with the other words as arguments. It may leave its input
// unread. When the time is over or it is cancelled, the program and its children are killed.
// Throws NotFound when it cannot be started, DeadlineExceeded, Cancelled, ResourceExhausted when its output
// passes 1 GiB.
ChildResult RunChild(const std::vector<std::string>& words, const std::string& input,
                     const ChildLimits& limits);

}  // namespace lanescope::study
