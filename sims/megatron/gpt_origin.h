// SPDX-License-Identifier: Apache-2.0
// The origin of a graph of a GPT model's step, which it carries with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "sims/megatron/gpt_step.h"

namespace lanescope::sims::megatron {

struct GptOrigin {
  GptModel model;
  GptLayout layout;
  PipelineSchedule schedule = PipelineSchedule::k1F1B;
};

// The attribute of the node 'train' that says it, and its text.
inline constexpr std::string_view kGptOriginAttr = "_lanescope_gpt";
std::string GptOriginText(GptOrigin origin);

// Empty for a graph that WriteGptStep did not write. Throws InvalidArgument where what it says is no such
// thing.
std::optional<GptOrigin> OriginOf(const Graph& graph);

}  // namespace lanescope::sims::megatron
