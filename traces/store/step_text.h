// SPDX-License-Identifier: Apache-2.0
// Which texts of ranges name steps. Internal to traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lanescope::traces {

// The words are "step", "iteration", "iter" and "batch".
struct StepText {
  int rank = 0;         // place in that order
  int64_t number = -1;  // -1: none
};

// Whether a text is one of the words, or starts with words and ends in one of them and a number
// ("ProfilerStep#12", "train step 3", "[iteration_7]", "Step 3/100", "step 3 of 100").
std::optional<StepText> ParseStepText(std::string_view text);

}  // namespace lanescope::traces
