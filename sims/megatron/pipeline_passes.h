// The order in which a stage takes its micro-batches.
#pragma once

#include <vector>

#include "sims/megatron/gpt_step.h"

namespace lanescope::sims::megatron {

// One way of a micro-batch through a stage.
struct Pass {
  bool backward = false;
  int micro_batch = 0;
};

// Of stage 0 to stages - 1, first pass first.
std::vector<Pass> PassesOf(PipelineSchedule schedule, int stage, int stages, int micro_batches);

}  // namespace lanescope::sims::megatron
