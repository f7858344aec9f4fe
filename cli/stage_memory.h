// SPDX-License-Identifier: Apache-2.0
// Memory that a GPU of each stage of a GPT model's step holds, as a table.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sims/megatron/gpt_origin.h"

namespace lanescope::cli {

void PrintStageMemory(const sims::megatron::GptOrigin& origin);
// A note where a stage holds more than an A100.
void NoteTooLarge(const sims::megatron::GptOrigin& origin);
// That table as JSON, a stage an object.
nlohmann::json StageMemoryJson(const sims::megatron::GptOrigin& origin);

}  // namespace lanescope::cli
