// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "traces/read/collectives.h"
#include "traces/replay/change.h"

namespace lanescope::traces {

void SetRanks(int64_t ranks, ReplayGraph* graph) {
  for (size_t i = 0; i < graph->collectives.size(); ++i) {
    const std::vector<int>& parts = graph->collectives[i];
    const ReplayTask& first = graph->tasks[static_cast<size_t>(parts.front())];
    const std::string kind = CollectiveKind(graph->names[static_cast<size_t>(first.name)]);
    const double longer =
        BusFactor(kind, ranks).value() / BusFactor(kind, graph->ranks_of_collectives[i]).value();
    for (const int part : parts) {
      ReplayTask& task = graph->tasks[static_cast<size_t>(part)];
      task.ns = std::llround(static_cast<double>(task.ns) * longer);
    }
  }
}

}  // namespace lanescope::traces
