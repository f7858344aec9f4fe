// SPDX-License-Identifier: Apache-2.0
// When a step ran.
#pragma once

#include <cstdint>

namespace lanescope::exec {

struct StepTimes {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  // Processor time that messages took the thread that moves them; of processes that make the same calls: of
  // all.
  int64_t messaging_ns = 0;
};

}  // namespace lanescope::exec
