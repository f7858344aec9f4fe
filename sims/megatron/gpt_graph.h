// A training step of a GPT model as a graph, with Megatron's layout.
#pragma once

#include <cstdint>
#include <optional>

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
// when the last of its GPUs arrives; on a machine that is a cluster it takes what its topology says. Between
// stages each GPU of a tensor group sends its part of the activations.
// Folded: GPUs of one stage do the same at the same time, in every tensor group and replica, so that one of
// them stands for all; its nodes say for how many (`_lanescope_stands_for`). That is exact where no two of
// them share a link of the network (Cluster::IsNonBlocking).
// Throws what EstimateGptStep throws, and InvalidArgument for more than a million nodes.
StepGraph WriteGptStep(const GptModel& model, const GptLayout& layout, PipelineSchedule schedule,
                       const MegatronRules& rules = {}, bool folded = false);
// What a graph was written as.
struct GptOrigin {
  GptModel model;
  GptLayout layout;
  PipelineSchedule schedule = PipelineSchedule::k1F1B;
};
// Empty for a graph that WriteGptStep did not write. Throws InvalidArgument where what it says is no such
// thing.
std::optional<GptOrigin> OriginOf(const Graph& graph);
// For how many GPUs each GPU of a folded graph stands; 1: it is not folded.
int64_t StandsFor(const Graph& graph);
// How many nodes that has.
double NodesOfGptStep(const GptModel& model, const GptLayout& layout, bool folded = false);

}  // namespace lanescope::sims::megatron
