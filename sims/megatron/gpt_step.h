// SPDX-License-Identifier: Apache-2.0
// The time of a training step of a GPT model under Megatron's tensor, data and pipeline parallelism, by
// rules.
#pragma once

#include <array>

#include "core/strategies/pipeline_passes.h"
#include "sims/megatron/cluster.h"
#include "sims/megatron/gpu.h"

namespace lanescope::sims::megatron {

struct GptModel {
  double layers = 0, hidden = 0, heads = 0, sequence = 0;
  double vocabulary = 50257;
};

// GPUs are numbered with tensor fastest, then data, then pipeline. pipeline * tensor * data GPUs.
struct GptLayout {
  double batch = 0, micro_batch = 0;  // sequences: of a step, of one pass through the model
  double tensor = 1, data = 1, pipeline = 1;
  bool recompute = false;  // activations of a layer are made a second time for its gradients
  double gpus() const { return tensor * data * pipeline; }
  double micro_batches() const { return batch / (micro_batch * data); }
};

// The time of the program around the kernels, fitted by bench/accuracy. A layer or another part of the model
// takes about the longer of its kernels' time and the host's time to launch them.
struct GptHost {
  double layer_s = 2.99e-3;             // to launch a layer's kernels, forward and backward
  double unfused_softmax_s = 1.565e-3;  // more, where the fused softmax takes no such shape
  double head_s = 3.99e-3, embedding_s = 0.612e-3;
  double overlap = 3.75;         // exponent of the norm that joins host and kernels; infinite: the longer
  double collective_s = 263e-6;  // between kernels and an all-reduce of tensor parallelism
  double collective_s_per_gpu = 29.8e-6;  // more with every further process, for the last one to arrive
  double step_s = 0.431e-3;
  double update_layer_s = 0.132e-3;  // to launch the optimizer's kernels of a layer
};

// Passes of memory-bound kernels over the tensors of a layer, forward and backward, of half-precision values.
struct GptPasses {
  double whole = 39.5;   // over [tokens, hidden], which all GPUs of a tensor group repeat
  double split = 29.6;   // over that divided by the tensor group
  double scores = 15.1;  // over the attention's scores
  double unfused = 8;    // more over the scores
  double logits = 4.32;
  double embedding = 10;
  double update_bytes = 16.0;  // a parameter
};

struct MegatronRules {
  Gpu gpu;
  Cluster cluster;
  GptHost host;
  GptPasses passes;
};

struct GptStep {
  double seconds = 0;
  // Parts of the time of one GPU of the slowest stage. Their sum is the step.
  double layers = 0;     // its micro-batches' layers, collectives within them included
  double ends = 0;       // embedding and output layer
  double messages = 0;   // between stages
  double bubble = 0;     // other stages' work that it waits for
  double gradients = 0;  // all-reduces over replicas and of the tied embedding
  double update = 0;
};

// The parts of a step on one GPU, in seconds; of a layer for one micro-batch the products with the passes
// between them: to queries, keys and values; attention; their projection; the feed-forward network's two.
struct GptTimes {
  std::array<double, 5> forward{}, backward{};
  double all_reduce = 0;  // of a tensor group: two forward, two backward
  double arrival = 0;     // of that, what passes before the last GPU arrives
  double embedding = 0, head = 0;
  double replicas = 0, tied = 0;  // all-reduces of gradients
  double all_reduce_bytes = 0, replica_bytes = 0, tied_bytes = 0;
  double update = 0;
};
// Throws InvalidArgument where the layout does not divide the model.
GptTimes TimesOf(const GptModel& model, const GptLayout& layout, const MegatronRules& rules = {});

// Rows of the vocabulary that a GPU of a tensor group has: Megatron pads them to whole 128 a GPU.
double SplitVocabulary(const GptModel& model, const GptLayout& layout);

// One forward, one backward schedule (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
// Clusters Using Megatron-LM", 2021). Where the layout does not divide the model, the largest part of it
// counts. Throws InvalidArgument for what are no whole numbers from 1 to a billion.
GptStep EstimateGptStep(const GptModel& model, const GptLayout& layout, const MegatronRules& rules = {});

}  // namespace lanescope::sims::megatron
