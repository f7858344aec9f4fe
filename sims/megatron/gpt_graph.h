// SPDX-License-Identifier: Apache-2.0
// A training step of a GPT model as a graph, with Megatron's layout.
#pragma once

#include <cstdint>

#include "core/strategies/graph_strategy.h"
#include "sims/megatron/gpt_origin.h"

namespace lanescope::sims::megatron {

// Nodes are parts of a layer on one GPU for one micro-batch, with their time by the rules and the shape of
// what they yield: projections to queries, keys and values and the first of the two of the feed-forward
// network split by columns, the others by rows, each of those with an all-reduce over its tensor group;
// embedding and output layer; gradients reduced over replicas and of the tied embedding over first and last
// stage; the optimizer. GPUs are numbered with tensor fastest, then data, then pipeline. A collective starts
// when the last of its GPUs arrives; on a machine that is a cluster it takes what its topology says. Between
// stages each GPU of a tensor group sends its part of the activations. Weights, gradients and the optimizer's
// numbers are variables of each GPU, and what a pass keeps for its gradients is a second output of its nodes,
// which the nodes backward read: the memory plan counts what SavedActivations and GptMemory say.
// Folded: GPUs of one stage do the same at the same time, in every tensor group and replica, so that one of
// them stands for all; its nodes say for how many (`_lanescope_stands_for`). That is exact where no two of
// them share a link of the network (Cluster::IsNonBlocking).
// Throws what EstimateGptStep throws, and InvalidArgument for more than a million nodes.
StepGraph WriteGptStep(const GptModel& model, const GptLayout& layout, PipelineSchedule schedule,
                       const MegatronRules& rules = {}, bool folded = false);
// For how many GPUs each GPU of a folded graph stands; 1: it is not folded.
int64_t StandsFor(const Graph& graph);
// How many nodes that has.
double NodesOfGptStep(const GptModel& model, const GptLayout& layout, bool folded = false);

}  // namespace lanescope::sims::megatron
