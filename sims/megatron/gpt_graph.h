// A training step of a GPT model as a graph, with Megatron's layout.
#pragma once

#include "core/strategies/graph_strategy.h"
#include "sims/megatron/gpt_step.h"

namespace lanescope::sims::megatron {

enum class PipelineSchedule {
  kGPipe,  // all micro-batches forward, then all backward (Huang et al., 2019)
  k1F1B,   // one forward, one backward as soon as the pipeline is full (Narayanan et al., 2021)
};

// Nodes are parts of a layer on one GPU for one micro-batch, with their time by the rules and the shape of
// what they yield: projections to queries, keys and values and the first of the two of the feed-forward
// network split by columns, the others by rows, each of those with an all-reduce over its tensor group;
// embedding and output layer; gradients reduced over replicas and of the tied embedding over first and last
// stage; the optimizer. GPUs are numbered with tensor fastest, then data, then pipeline. A collective starts
// when the last of its GPUs arrives. Throws what EstimateGptStep throws, and InvalidArgument for more than a
// million nodes.
StepGraph WriteGptStep(const GptModel& model, const GptLayout& layout, PipelineSchedule schedule,
                       const MegatronRules& rules = {});

}  // namespace lanescope::sims::megatron
