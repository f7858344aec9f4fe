// SPDX-License-Identifier: Apache-2.0
#include "sims/megatron/gpt_memory.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lanescope::sims::megatron {
namespace {

constexpr double kWeightBytes = 2, kGradientBytes = 4, kOptimizerBytes = 12;
// Logits in half and single precision and their gradient.
constexpr double kLogitBytes = 8;

// The micro-batches whose forward passes a stage runs before their gradients come back.
double InFlight(const GptLayout& layout, PipelineSchedule schedule, double stage) {
  const auto micro_batches = static_cast<int>(std::ceil(layout.micro_batches()));
  return PassesAhead({schedule, static_cast<int>(layout.pipeline), 1, micro_batches}, static_cast<int>(stage),
                     0);
}

GptMemory MemoryOfStage(const GptModel& model, const GptLayout& layout, PipelineSchedule schedule,
                        double stage) {
  const double h = model.hidden, layers = std::ceil(model.layers / layout.pipeline);
  const double vocabulary = SplitVocabulary(model, layout);
  const bool first = stage == 0, last = stage == layout.pipeline - 1;
  GptMemory memory;
  memory.parameters = layers * 12 * h * h / layout.tensor + (first || last ? vocabulary * h : 0);
  memory.weights = kWeightBytes * memory.parameters;
  memory.gradients = kGradientBytes * memory.parameters;
  memory.optimizer = kOptimizerBytes * memory.parameters;
  memory.in_flight = InFlight(layout, schedule, stage);
  const SavedActivations saved = SavedOf(model, layout);
  memory.activations = layout.recompute ? saved.input * layers * memory.in_flight + saved.layer()
                                        : saved.layer() * layers * memory.in_flight;
  if (last) memory.logits = kLogitBytes * layout.micro_batch * model.sequence * vocabulary;
  return memory;
}

}  // namespace

double SavedActivations::layer() const { return std::accumulate(parts.begin(), parts.end(), 0.0); }

SavedActivations SavedOf(const GptModel& model, const GptLayout& layout) {
  const double t = layout.tensor, tokens = layout.micro_batch * model.sequence;
  const double values = tokens * model.hidden;
  SavedActivations saved;
  // Its input and the normalised one; queries, keys and values with the scores, their softmax and what of it
  // is dropped; the projection's input and what is dropped; as the first; the activation's input and result
  // and what is dropped. What only GPUs of a tensor group have a part of is divided.
  saved.parts = {4 * values, (6 * values + 5 * model.heads * model.sequence * tokens) / t,
                 2 * values / t + values, 4 * values, 16 * values / t + values};
  saved.input = 2 * values;
  return saved;
}

std::vector<GptMemory> GptMemoryByStage(const GptModel& model, const GptLayout& layout,
                                        PipelineSchedule schedule) {
  std::vector<GptMemory> stages;
  for (double stage = 0; stage < layout.pipeline; ++stage)
    stages.push_back(MemoryOfStage(model, layout, schedule, stage));
  return stages;
}

FullestStage FullestStageOf(const GptModel& model, const GptLayout& layout, PipelineSchedule schedule) {
  // Between the ends no stage holds more than the one before it.
  FullestStage fullest;
  for (const double stage : {0.0, 1.0, layout.pipeline - 1}) {
    if (stage >= layout.pipeline) continue;
    const double bytes = MemoryOfStage(model, layout, schedule, stage).bytes();
    if (bytes > fullest.bytes) fullest = {static_cast<int>(stage), bytes};
  }
  return fullest;
}

int64_t WholeBytes(double bytes) { return static_cast<int64_t>(std::min(bytes, 0x1p62)); }

bool FitsWithoutRecomputing(const GptModel& model, const GptLayout& layout, const Gpu& gpu,
                            PipelineSchedule schedule) {
  GptLayout whole = layout;
  whole.recompute = false;
  return FullestStageOf(model, whole, schedule).bytes <= gpu.memory_bytes;
}

}  // namespace lanescope::sims::megatron
