// SPDX-License-Identifier: Apache-2.0
// Files with training steps of GPT models.
#pragma once

#include <string>

#include "sims/megatron/gpt_graph.h"

namespace lanescope::cli {

// Beyond as many nodes GPUs that do the same are written once, where nobody says otherwise.
inline constexpr double kMostUnfoldedGptNodes = 3e5;

// Empty for a name that says what to write, .pb or .pbtxt.
std::string CheckGraphFile(const std::string& path);
// Throws InvalidArgument for any other.
void RequireGraphFile(const std::string& path);

// Writes the step and its run configuration beside it. `fold`: "auto", "all" or "none". Says how it was
// folded, if it was, and returns how many nodes it has.
int WriteGptFile(const sims::megatron::GptOrigin& step, const std::string& fold, const std::string& path);

}  // namespace lanescope::cli
