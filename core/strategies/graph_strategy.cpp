#include "core/strategies/graph_strategy.h"

#include <array>

namespace lanescope {
namespace {

constexpr std::array<GraphStrategy, 1> kGraphStrategies{{
    {"data-parallel", "writes a replica for each GPU: a part of the batch each, averaged gradients",
     &ReplicateOverBatch},
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
