// SPDX-License-Identifier: Apache-2.0
// Memory that a GPU takes while a transformer trains under a plan.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sims/plans/machine.h"
#include "sims/plans/model_shape.h"
#include "sims/plans/plan.h"

namespace lanescope::sims::plans {

// One GPU of a stage, in bytes, at its peak.
struct PlanMemory {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;  // kept by forward passes for their gradients
  double logits = 0;       // of the last stage: output layer and loss
  double gathered = 0;     // sharded blocks that are whole for a while, and buffers of collectives
  double rounding = 0;     // of the allocator: blocks that no tensor fills
  double in_flight = 0;    // micro-batches whose activations are held, in parts of a stage's layers
  double bytes() const {
    return weights + gradients + optimizer + activations + logits + gathered + rounding;
  }
  // The largest part.
  std::pair<std::string_view, double> largest() const;
};

// Bytes that CUDA, its libraries and NCCL hold beside the tensors of a program.
inline constexpr double kOutsideBytes = 1.5e9;

// By stage. `plan` divides all (CheckPlan).
std::vector<PlanMemory> MemoryByStage(const ModelShape& model, const Plan& plan, double global_batch,
                                      double sequence);
struct FullestStage {
  int stage = 0;
  PlanMemory memory;
};
FullestStage FullestStageOf(const ModelShape& model, const Plan& plan, double global_batch, double sequence);
// Bytes by which the fullest stage does not fit, with what lies outside; 0 or less: it fits.
double MissingBytes(const FullestStage& fullest, const PlanMachine& machine);

// Forward passes, each of layers / (pp vpp), that a stage is ahead of its gradients at most.
double PassesInFlight(const Plan& plan, int stage, double micro_batches);
// Bytes that autograd keeps of a layer for one micro-batch on one GPU.
double SavedBytes(const ModelShape& model, const Plan& plan, double sequence);

}  // namespace lanescope::sims::plans
