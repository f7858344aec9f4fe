// SPDX-License-Identifier: Apache-2.0
// Which texts of ranges name steps. Internal to traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "traces/store/step_work.h"

namespace lanescope::traces {

// The words are "step", "iteration", "iter" and "batch".
struct StepText {
  int rank = 0;         // place in that order
  int64_t number = -1;  // -1: none
  StepWork work{};
};

// Whether a text is one of the words, or starts with words and ends in one of them and a number
// ("ProfilerStep#12", "train step 3", "[iteration_7]", "Step 3/100", "step 3 of 100"). So are the steps of
// engines, without a number: of SGLang "step[DECODE bs=32]", and as iterations those of vLLM,
// "execute_context_1(512)_generation_31(31)", "execute_new_1_cached_31".
std::optional<StepText> ParseStepText(std::string_view text);

}  // namespace lanescope::traces
