// SPDX-License-Identifier: Apache-2.0
// The order in which a stage of a pipeline takes its micro-batches.
#pragma once

#include <cstdint>
#include <vector>

namespace lanescope {

enum class PipelineSchedule : uint8_t {
  kGPipe,        // all micro-batches forward, then all backward (Huang et al., 2019)
  k1F1B,         // one forward, one backward as soon as the pipeline is full (Narayanan et al., 2021)
  kInterleaved,  // the same with several parts of the model on each stage (Narayanan et al., 2021,
                 // section 2.2)
  kZeroBubble,   // gradients of weights apart, where a stage would wait: ZB-H1 (Qi et al., 2023)
};

// Part p of stage s is the model's part p * stages + s. Stages, parts and micro-batches are numbered from 0.
struct PipelineOrder {
  PipelineSchedule schedule = PipelineSchedule::k1F1B;
  int stages = 2;
  int parts = 1;  // of each stage
  int micro_batches = 1;
};

enum class PassKind : uint8_t {
  kForward,
  kBackward,
  kInputs,   // the gradients that go on backward
  kWeights,  // the rest of them
};

// One way of a micro-batch through a part of a stage.
struct PipelinePass {
  PassKind kind = PassKind::kForward;
  int micro_batch = 0;
  int part = 0;
  bool is_backward() const { return kind != PassKind::kForward; }
  friend bool operator==(const PipelinePass&, const PipelinePass&) = default;
};

// Whether so many micro-batches can be put in rounds, as the last two schedules do it: of as many as there
// are stages, or some more where those do not divide them (as torch.distributed.pipelining 2.15).
bool MakesRounds(const PipelineOrder& order);

// First pass first. MakesRounds holds.
std::vector<PipelinePass> PassesOf(const PipelineOrder& order, int stage);

// When passes begin, by stage and pass, each after those that it waits for: a forward pass and either half of
// a backward pass take one.
std::vector<std::vector<int>> PassStarts(const PipelineOrder& order);

// How many micro-batches a part has been through forward and not yet all the way backward, at most: so many
// activations it holds.
int PassesAhead(const PipelineOrder& order, int stage, int part);

}  // namespace lanescope
