// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/graph_strategy.h"

#include <array>

namespace lanescope {
namespace {

constexpr std::array<GraphStrategy, 5> kGraphStrategies{{
    {"data-parallel", "writes a replica for each GPU: a part of the batch each, averaged gradients",
     &ReplicateOverBatch},
    {"fsdp", "the same, but of every variable a part on each GPU, gathered when it is read", &ShardOverBatch},
    {"pipeline", "cuts the graph into a stage for each GPU and the batch into micro-batches: 1F1B",
     &WritePipeline1F1B},
    {"pipeline-gpipe", "the same, but all micro-batches forward before any backward", &WritePipelineGPipe},
    {"tensor-parallel",
     "of every matrix a part on each GPU, of the batch all: products by columns, then rows",
     &SplitOverMatrices},
}};

}  // namespace

std::span<const GraphStrategy> GraphStrategies() { return kGraphStrategies; }

const GraphStrategy* FindGraphStrategy(std::string_view name) {
  for (const GraphStrategy& strategy : kGraphStrategies) {
    if (strategy.name == name) return &strategy;
  }
  return nullptr;
}

}  // namespace lanescope
