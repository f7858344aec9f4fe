// SPDX-License-Identifier: Apache-2.0
// The best way to lay a GPT model out over so many GPUs.
#pragma once

#include <cstdint>
#include <vector>

#include "sims/megatron/gpt_step.h"

namespace lanescope::sims::megatron {

struct FoundLayout {
  GptLayout layout;
  GptStep step;             // by the rules
  double memory_bytes = 0;  // of a GPU of the fullest stage, by GptMemory
};

// Every layout of `gpus` GPUs, best first by the rules: powers and multiples of tensor, data and pipeline
// that divide the model, tensor groups within a node, micro-batches of up to 64 sequences, activations made
// again where a GPU's memory (`rules.gpu.memory_bytes`) holds them only so. Those that fit no memory are left
// out. Throws InvalidArgument where nothing divides the model, ResourceExhausted where nothing fits.
std::vector<FoundLayout> SearchLayouts(const GptModel& model, double batch, int gpus,
                                       const MegatronRules& rules = {},
                                       PipelineSchedule schedule = PipelineSchedule::k1F1B);

}  // namespace lanescope::sims::megatron
