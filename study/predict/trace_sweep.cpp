// SPDX-License-Identifier: Apache-2.0
#include "study/predict/trace_sweep.h"

#include <algorithm>
#include <set>
#include <utility>

#include "sims/cost/cost_model.h"
#include "sims/predict/predict.h"
#include "study/predict/calibration.h"
#include "traces/read/recorded_schedule.h"

namespace lanescope::study {
namespace {

constexpr size_t kMostCommands = 50'000;  // of all runs together
constexpr double kReach = 10;

// The first run of every graph and strategy, on the machine of the first.
std::vector<traces::TraceRunInfo> RunsToSweep(traces::TraceReader* reader) {
  std::vector<traces::TraceRunInfo> runs;
  std::set<std::pair<std::string, std::string>> seen;
  for (traces::TraceRunInfo& run : reader->Runs()) {
    if (run.machine_json.empty() || !run.error.empty()) continue;
    if (!runs.empty() && run.machine_json != runs.front().machine_json) continue;
    if (seen.emplace(run.graph, run.strategy).second) runs.push_back(std::move(run));
  }
  return runs;
}

std::optional<sims::CostTable> CostsOf(traces::TraceReader* reader, const std::string& machine_json) {
  std::optional<sims::CostTable> kept;
  for (const traces::TraceRunInfo& run : reader->Runs()) {
    if (run.machine_json != machine_json || !run.error.empty()) continue;
    if (!run.simulated) return CalibrateOnRun(reader, run.id);
    const std::string costs = kept ? "" : reader->CostModelOf(run.id);
    if (!costs.empty()) kept = sims::ParseCostTable(costs);
  }
  return kept;
}

}  // namespace

std::optional<sims::Sweep> SweepRuns(traces::TraceReader* reader) {
  const std::vector<traces::TraceRunInfo> runs = RunsToSweep(reader);
  if (runs.size() < 2) return std::nullopt;
  const Machine machine = ParseMachine(runs.front().machine_json);
  sims::SweepRange range;
  range.links = sims::LinksBetweenGpus(machine);
  if (range.links.empty()) return std::nullopt;
  std::vector<double> bandwidth;
  for (const int link : range.links) bandwidth.push_back(machine.links[static_cast<size_t>(link)].bandwidth);
  range.low = *std::ranges::min_element(bandwidth) / kReach;
  range.high = *std::ranges::max_element(bandwidth) * kReach;
  std::optional<sims::CostTable> table = CostsOf(reader, runs.front().machine_json);
  if (!table) return std::nullopt;
  const sims::PredictionSettings settings = sims::SettingsOf(*table);
  const sims::CalibratedCost costs(std::move(*table));
  std::vector<std::string> names;
  std::vector<traces::RecordedSchedule> schedules;
  size_t commands = 0;
  for (const traces::TraceRunInfo& info : runs) {
    const traces::TraceRun run = reader->ReadRun(info.id);
    if (traces::NumSchedules(run) != 1) continue;
    schedules.push_back(traces::ReadSchedule(run, 0, machine));
    names.push_back(info.graph.substr(0, info.graph.rfind('.')) + " " + info.strategy);
    commands += schedules.back().schedule.commands.size();
  }
  if (schedules.size() < 2 || commands > kMostCommands) return std::nullopt;
  std::vector<sims::CommandEstimates> estimates;
  for (const traces::RecordedSchedule& recorded : schedules)
    estimates.push_back(sims::EstimateCommands(recorded.schedule, recorded.work, machine, costs, settings));
  std::vector<sims::SweepCandidate> candidates;
  for (size_t i = 0; i < schedules.size(); ++i)
    candidates.push_back({names[i], nullptr, nullptr, &schedules[i].schedule, &estimates[i]});
  return lanescope::sims::RunSweep(machine, costs, settings, candidates, range);
}

}  // namespace lanescope::study
