// SPDX-License-Identifier: Apache-2.0
// A plan as code of PyTorch, over the modules of a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sims/plans/plan.h"

namespace lanescope::sims::plans {

enum class TorchStyle : uint8_t {
  kColumns,         // ColwiseParallel of a Linear
  kRows,            // RowwiseParallel of a Linear
  kWords,           // RowwiseParallel of an Embedding
  kColumnsOfWords,  // ColwiseParallel of an Embedding
  kTokens,          // SequenceParallel of a norm between the matrices
  kHeads,           // SequenceParallel of a norm along a head, over the heads
};
struct TorchModule {
  std::string path;  // within its block, or within the model
  TorchStyle style = TorchStyle::kColumns;
};
struct TorchModules {
  std::string origin;  // whose they are, for a comment; empty: the model's own
  std::string blocks;  // what holds the blocks under numbers: "model.layers"

  std::vector<TorchModule> in_block, outside;
  // Sentences on modules that tensor parallelism leaves whole, for comments.
  std::vector<std::string> left_whole;
};

// For a model that is a shape alone: torchtitan's Llama.
TorchModules ModulesOfTorchtitan();

// Statements over a variable `model` that is still whole: a device mesh, parallelize_module, checkpoints and
// fully_shard of its blocks, and the split points of a pipeline, with a line break at the end. Comments say
// what PyTorch has no public call for. `micro_batches`: of a pipeline's step.
std::string PyTorchText(const Plan& plan, const TorchModules& modules, double micro_batches);

}  // namespace lanescope::sims::plans
