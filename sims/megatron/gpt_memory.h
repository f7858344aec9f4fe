// SPDX-License-Identifier: Apache-2.0
// The memory of a GPU while a GPT model is trained under Megatron's layout.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sims/megatron/gpt_step.h"

namespace lanescope::sims::megatron {

// Bytes that a layer's forward pass keeps for its gradients, for one micro-batch on one GPU: by part (as
// GptTimes), and its input alone, which is all that stays where activations are made again (Korthikanti et
// al., "Reducing Activation Recomputation in Large Transformer Models", 2022: in half precision with one byte
// for each dropped value, s b h (10 + 24 / t + 5 a s / (h t)) a layer).
struct SavedActivations {
  std::array<double, 5> parts{};
  double input = 0;
  double layer() const;
};
SavedActivations SavedOf(const GptModel& model, const GptLayout& layout);

// A GPU of one stage, in bytes. Megatron's mixed precision with gradients in single precision: 18 bytes a
// parameter (NVIDIA, Megatron Core's documentation of its distributed optimizer, which the layouts here do
// not use).
struct GptMemory {
  double parameters = 0;   // how many
  double weights = 0;      // 2 bytes each
  double gradients = 0;    // 4
  double optimizer = 0;    // 12: a copy of the weights and Adam's two moments
  double in_flight = 0;    // micro-batches whose activations it holds at once
  double activations = 0;  // of all of these; made again: what stays, and one layer
  double logits = 0;       // the output layer's, of one micro-batch
  double bytes() const { return weights + gradients + optimizer + activations + logits; }
};

// First stage first. The embedding's weights are in the first stage and the output layer's, a copy of them,
// in the last one.
std::vector<GptMemory> GptMemoryByStage(const GptModel& model, const GptLayout& layout,
                                        PipelineSchedule schedule = PipelineSchedule::k1F1B);
// The most that a stage holds, and which one.
struct FullestStage {
  int stage = 0;
  double bytes = 0;
};
FullestStage FullestStageOf(const GptModel& model, const GptLayout& layout,
                            PipelineSchedule schedule = PipelineSchedule::k1F1B);
// As a whole number; of more bytes than anything has, as many as there are numbers for.
int64_t WholeBytes(double bytes);
// Whether a GPU's memory holds all activations.
bool FitsWithoutRecomputing(const GptModel& model, const GptLayout& layout, const Gpu& gpu,
                            PipelineSchedule schedule = PipelineSchedule::k1F1B);

}  // namespace lanescope::sims::megatron
