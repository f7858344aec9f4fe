#include <cmath>

#include "traces/read/collectives.h"
#include "traces/replay/change.h"

namespace lanescope::traces {

void SetRanks(int64_t ranks, ReplayGraph* graph) {
  for (const std::vector<int>& parts : graph->collectives) {
    const ReplayTask& first = graph->tasks[static_cast<size_t>(parts.front())];
    const std::string kind = CollectiveKind(graph->names[static_cast<size_t>(first.name)]);
    const double longer =
        BusFactor(kind, ranks).value() / BusFactor(kind, static_cast<int64_t>(parts.size())).value();
    for (const int part : parts) {
      ReplayTask& task = graph->tasks[static_cast<size_t>(part)];
      task.ns = std::llround(static_cast<double>(task.ns) * longer);
    }
  }
}

}  // namespace lanescope::traces
