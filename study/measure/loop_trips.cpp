// SPDX-License-Identifier: Apache-2.0
#include "study/measure/loop_trips.h"

#include "core/schedule/cost.h"
#include "study/measure/recorded_run.h"
#include "study/workload/placing.h"

namespace lanescope::study {

std::map<std::string, int64_t> MeasureTrips(const std::string& path, const WorkloadOptions& options,
                                            Cancellation* cancellation) {
  const std::vector<std::string> loops = Workload(path, options).counted_loops();
  if (loops.empty()) return {};
  WorkloadOptions counting = options;
  counting.fetches.clear();
  for (const std::string& loop : loops) counting.fetches.push_back(loop + "/trips");
  const Workload workload(path, counting);
  const Machine machine = VirtualMachine(1, 1);
  const PlacedGraph placed = Place(workload, "single", machine, RooflineCost());
  RecordedRunOptions how;
  how.cancellation = cancellation;
  RecordedRun run(placed, machine, nullptr, how);
  run.RunToEnd(0, 1);
  std::map<std::string, int64_t> trips;
  for (size_t i = 0; i < loops.size(); ++i) trips[loops[i]] = run.last_fetches()[i].IntAt(0);
  return trips;
}

}  // namespace lanescope::study
