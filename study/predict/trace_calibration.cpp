// SPDX-License-Identifier: Apache-2.0
// Calibration on the runs that a trace holds.
#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/processors.h"
#include "sims/fit/step_samples.h"
#include "study/job/this_machine.h"
#include "study/predict/calibration.h"
#include "traces/read/recorded_schedule.h"

namespace lanescope::study {
namespace {

// Empty for a number that is no node's.
std::string OpOfNode(const traces::TraceRun& run, int node) {
  const auto found = std::ranges::lower_bound(run.nodes, node, {}, &traces::TraceNode::id);
  return found != run.nodes.end() && found->id == node ? found->op : "";
}

// Adds the samples of all schedules of a run; `input` has the gaps of the first.
void AddRun(const traces::TraceRun& run, const Machine& machine, int warmup_steps,
            const std::atomic<bool>* cancelled, std::optional<sims::CalibrationInput>* input) {
  for (int number = 0; number < traces::NumSchedules(run); ++number) {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed))
      Throw(Code::kCancelled, "calibration was cancelled");
    const traces::RecordedSchedule recorded = traces::ReadSchedule(run, number, machine);
    const sims::InputRun input_run{
        run.input, recorded.events, NumProcessors(),
        [&](CommandId command) { return sims::TakesCore(recorded.schedule, machine, command); },
        [&](int node) { return OpOfNode(run, node); }};
    const std::vector<Event> events = sims::WithoutInput(input_run);
    sims::CalibrationInput found =
        lanescope::sims::SamplesOf(recorded.schedule, recorded.work, events, machine, warmup_steps);
    if (number == 0) found.input = sims::FitInput(input_run);
    if (input->has_value()) {
      sims::AddSamples(found, &**input);
    } else {
      *input = std::move(found);
    }
  }
}

// The run whose gaps are taken, then the others on its machine. Empty: none was measured.
std::vector<traces::TraceRunInfo> ChooseRuns(traces::TraceReader* reader, const std::string& graph,
                                             int preferred, const std::string& machine_json) {
  std::vector<traces::TraceRunInfo> measured;
  for (traces::TraceRunInfo& info : reader->Runs()) {
    const bool usable = !info.simulated && info.graph == graph && info.error.empty();
    if (usable && !info.machine_json.empty()) measured.push_back(std::move(info));
  }
  if (measured.empty()) return measured;
  auto first = std::find_if(measured.begin(), measured.end(),
                            [&](const traces::TraceRunInfo& info) { return info.id == preferred; });
  if (first == measured.end()) {
    first = std::find_if(measured.begin(), measured.end(),
                         [&](const traces::TraceRunInfo& info) { return info.machine_json == machine_json; });
  }
  if (first != measured.end()) std::rotate(measured.begin(), first, first + 1);
  const std::string machine = measured.front().machine_json;
  std::erase_if(measured, [&](const traces::TraceRunInfo& info) { return info.machine_json != machine; });
  return measured;
}

std::string Names(const std::vector<traces::TraceRunInfo>& runs) {
  std::vector<int> ids;
  for (const traces::TraceRunInfo& info : runs) ids.push_back(info.id);
  std::sort(ids.begin(), ids.end());
  std::string list;
  for (const int id : ids) list += fmt::format("{}{}", list.empty() ? "" : ", ", id);
  return fmt::format("run{} {}", ids.size() > 1 ? "s" : "", list);
}

// Takes the costs that need microbenchmarks: copies where there are none of the same kind.
void TakeCopies(const KeptCosts& kept, sims::CostTable* table) {
  if (kept.run == 0) return;
  for (const sims::CopyFit& copy : kept.table.copies) {
    const bool known = std::any_of(table->copies.begin(), table->copies.end(), [&](const sims::CopyFit& fit) {
      return fit.src == copy.src && fit.dst == copy.dst;
    });
    if (!known) table->copies.push_back(copy);
  }
  table->calibrated_on += fmt::format("; interference as in run {}", kept.run);
}

}  // namespace

sims::CalibrationInput SamplesOf(const traces::TraceRun& run, const Machine& machine, int warmup_steps) {
  std::optional<sims::CalibrationInput> input;
  AddRun(run, machine, warmup_steps, nullptr, &input);
  return std::move(input).value_or(sims::CalibrationInput());
}

KeptCosts FindKeptCosts(traces::TraceReader* reader, const std::string& machine_json) {
  for (const traces::TraceRunInfo& info : reader->Runs()) {
    if (!info.simulated || info.machine_json != machine_json) continue;
    const std::string costs = reader->CostModelOf(info.id);
    if (costs.empty()) continue;
    KeptCosts kept{info.id, sims::ParseCostTable(costs)};
    if (kept.table.has_microbenchmarks()) return kept;
  }
  return {};
}

sims::CostTable FitCosts(const sims::CalibrationInput& input, const KeptCosts& kept, const Machine& machine,
                         const std::string& calibrated_on) {
  sims::CostTable table = lanescope::sims::FitCosts(input, kept.measured(), machine, calibrated_on);
  if (!kept.table.copies.empty()) table.copies.clear();
  TakeCopies(kept, &table);
  return table;
}

sims::CostTable CalibrateOnRun(traces::TraceReader* reader, int run) {
  const traces::TraceRun trace = reader->ReadRun(run);
  const Machine machine = ParseMachine(trace.info.machine_json);
  return FitCosts(SamplesOf(trace, machine), FindKeptCosts(reader, trace.info.machine_json), machine,
                  fmt::format("run {}", run));
}

TraceCalibration CalibrateFromTrace(const std::string& path, const std::string& graph, int preferred,
                                    const std::string& machine_json, const std::atomic<bool>& cancelled) {
  traces::TraceReader reader(path);
  const std::vector<traces::TraceRunInfo> runs = ChooseRuns(&reader, graph, preferred, machine_json);
  if (runs.empty()) return {};
  const Machine machine = ParseMachine(runs.front().machine_json);
  std::optional<sims::CalibrationInput> all;
  for (const traces::TraceRunInfo& info : runs) AddRun(reader.ReadRun(info.id), machine, 0, &cancelled, &all);
  const KeptCosts kept = FindKeptCosts(&reader, runs.front().machine_json);
  TraceCalibration calibration{lanescope::sims::FitCosts(std::move(all).value_or(sims::CalibrationInput()),
                                                         kept.measured(), machine, Names(runs)),
                               true};
  TakeCopies(kept, &calibration.table);
  return calibration;
}

}  // namespace lanescope::study
