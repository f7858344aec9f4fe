// SPDX-License-Identifier: Apache-2.0
// What a GPU of each stage of a GPT model's step holds, as a table.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sims/megatron/gpt_origin.h"

namespace lanescope::cli {

void PrintStageMemory(const sims::megatron::GptOrigin& origin);
// A note where a stage holds more than an A100.
void NoteTooLarge(const sims::megatron::GptOrigin& origin);
// The same as JSON, a stage an object.
nlohmann::json StageMemoryJson(const sims::megatron::GptOrigin& origin);

}  // namespace lanescope::cli
