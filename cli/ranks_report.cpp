// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks_report.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/print.h"
#include "core/base/units.h"
#include "core/machine/tasks.h"

namespace lanescope::cli {

nlohmann::json RanksJson(const study::Job& job, const Machine& machine, const exec::Transport* own) {
  const std::vector<std::string> tasks = TasksOf(machine).names;
  nlohmann::json ranks = nlohmann::json::array();
  if (own != nullptr) {
    ranks.push_back({{"name", own->NameOf(own->rank())},
                     {"task", tasks[static_cast<size_t>(own->rank())]},
                     {"clock_ahead_ns", 0},
                     {"clock_uncertainty_ns", 0}});
    return ranks;
  }
  const std::vector<study::ClockOffset> alone(1);
  const std::vector<study::ClockOffset>& clocks = job.is_shared() ? job.clocks() : alone;
  for (size_t rank = 0; rank < clocks.size(); ++rank) {
    const study::ClockOffset& clock = clocks[rank];
    ranks.push_back({{"name", job.NameOf(static_cast<int>(rank))},
                     {"task", tasks[rank]},
                     {"clock_ahead_ns", clock.ahead_ns},
                     {"clock_uncertainty_ns", clock.uncertainty_ns}});
  }
  return ranks;
}

void PrintRanks(const study::Job& job, const Machine& machine) {
  const std::vector<std::string> tasks = TasksOf(machine).names;
  for (size_t rank = 1; rank < job.clocks().size(); ++rank) {
    const study::ClockOffset& clock = job.clocks()[rank];
    const std::string name = job.NameOf(static_cast<int>(rank));
    if (clock.uncertainty_ns == 0) {
      Print("{} as {}: it has the first one's clock\n", name, tasks[rank]);
      continue;
    }
    Print("{} as {}: its clock is {} {} the first one's, known to {}\n", name, tasks[rank],
          FormatDuration(std::abs(clock.ahead_ns)), clock.ahead_ns < 0 ? "behind" : "ahead of",
          FormatDuration(clock.uncertainty_ns));
  }
}

}  // namespace lanescope::cli
