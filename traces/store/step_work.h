// SPDX-License-Identifier: Apache-2.0
// The work of an engine that serves a model, in a step.
#pragma once

#include <cstdint>

namespace lanescope::traces {

// Requests whose prompt it reads, requests that it adds a token to, and tokens of both; -1: not said.
struct StepWork {
  int64_t prefill = -1, decode = -1, tokens = -1;
  bool known() const { return prefill >= 0 || decode >= 0 || tokens >= 0; }
};

}  // namespace lanescope::traces
