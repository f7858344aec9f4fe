// SPDX-License-Identifier: Apache-2.0
// The order in which a stage of a pipeline takes its micro-batches.
#pragma once

#include <vector>

namespace lanescope {

enum class PipelineSchedule {
  kGPipe,  // all micro-batches forward, then all backward (Huang et al., 2019)
  k1F1B,   // one forward, one backward as soon as the pipeline is full (Narayanan et al., 2021)
};

// How many micro-batches a stage has been through forward and not yet backward, at most: so many activations
// it holds. Stages are numbered from 0.
int PassesAhead(PipelineSchedule schedule, int stage, int stages, int micro_batches);

// One way of a micro-batch through a stage.
struct PipelinePass {
  bool backward = false;
  int micro_batch = 0;
};

// First pass first.
std::vector<PipelinePass> PassesOf(PipelineSchedule schedule, int stage, int stages, int micro_batches);

}  // namespace lanescope
