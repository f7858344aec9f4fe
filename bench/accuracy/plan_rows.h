// SPDX-License-Identifier: Apache-2.0
// Published training steps with their plans, as predictions take them.
#pragma once

#include <string>
#include <vector>

#include "bench/accuracy/csv_table.h"
#include "sims/plans/machine.h"
#include "sims/plans/model_shape.h"
#include "sims/plans/plan.h"

namespace lanescope::bench {

struct PublishedStep {
  std::string id, source, system, size;  // size: the model's name
  std::string not_modelled;              // why; empty: it is
  sims::plans::ModelShape model;
  sims::plans::Plan plan;
  sims::plans::PlanMachine machine;
  double global_batch = 0, sequence = 0;
  double step_s = 0;
  double beside_s = 0;           // what the source's program does in a step beside training
  double memory_bytes = 0;       // 0: not stated
  bool states_recompute = true;  // which decides memory more than anything
};

// Rows of the tables of plans; the other table of the same sources ("model_tflops_per_gpu") too.
std::vector<PublishedStep> ReadPublishedSteps(const std::string& path);

}  // namespace lanescope::bench
