// SPDX-License-Identifier: Apache-2.0
// Knobs for sliders: what of a trace can be changed, and how far.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/replay/replay_graph.h"

namespace lanescope::traces {

// One change that FindWhatIf takes, but for its value. Value type.
struct WhatIfKnob {
  // kSpeed: a factor, best on a logarithmic slider. kDuration: ns. kCount: whole. kChoice: one of `choices`,
  // or none of them, which changes nothing.
  enum class Kind : uint8_t { kSpeed, kDuration, kCount, kChoice };
  Kind kind = Kind::kSpeed;
  std::string what;                   // left of "=": "GPU:1.speed", "copy:[CUDA memcpy HtoD]"
  std::string label;                  // "speed of GPU:1"
  double low = 0, high = 0, now = 0;  // `now` changes nothing
  std::vector<std::string> choices;   // "removed", "overlapped"
  int64_t count = 0, ns = 0;          // tasks or collectives that it concerns; what they take all together
  std::string refused;                // why the trace cannot say what it would do; empty: it can

  // As FindWhatIf takes it. `value` is brought between low and high.
  std::string ChangeTo(double value) const;
  std::string ChangeTo(std::string_view choice) const;
};

// All that the trace has, what it refuses included: host, launches, links, collectives, its GPUs, and the
// kernels and copies that take the most time.
std::vector<WhatIfKnob> FindWhatIfKnobs(const ReplayGraph& graph);

}  // namespace lanescope::traces
