#include "gui/document_calibration.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/machine.h"
#include "sims/step_samples.h"
#include "traces/recorded_schedule.h"
#include "traces/trace_reader.h"

namespace lanescope::gui {
namespace {

// The run whose gaps are taken, then the others on its machine. Empty: none was measured.
std::vector<TraceRunInfo> ChooseRuns(TraceReader* reader, const std::string& graph, int preferred,
                                     const std::string& machine_json) {
  std::vector<TraceRunInfo> measured;
  for (TraceRunInfo& info : reader->Runs()) {
    const bool usable = !info.simulated && info.graph == graph && info.error.empty();
    if (usable && !info.machine_json.empty()) measured.push_back(std::move(info));
  }
  if (measured.empty()) return measured;
  auto first = std::find_if(measured.begin(), measured.end(),
                            [&](const TraceRunInfo& info) { return info.id == preferred; });
  if (first == measured.end()) {
    first = std::find_if(measured.begin(), measured.end(),
                         [&](const TraceRunInfo& info) { return info.machine_json == machine_json; });
  }
  if (first != measured.end()) std::rotate(measured.begin(), first, first + 1);
  const std::string machine = measured.front().machine_json;
  std::erase_if(measured, [&](const TraceRunInfo& info) { return info.machine_json != machine; });
  return measured;
}

std::string NoteOf(const std::vector<TraceRunInfo>& runs) {
  std::vector<int> ids;
  for (const TraceRunInfo& info : runs) ids.push_back(info.id);
  std::sort(ids.begin(), ids.end());
  std::string list;
  for (const int id : ids) list += fmt::format("{}{}", list.empty() ? "" : ", ", id);
  return fmt::format("calibrated on run{} {}", ids.size() > 1 ? "s" : "", list);
}

// What a prediction on the same machine was made with.
struct KeptCosts {
  int run = 0;  // 0: none was kept
  CostTable table;
};
KeptCosts FindKeptCosts(TraceReader* reader, const std::string& machine_json) {
  for (const TraceRunInfo& info : reader->Runs()) {
    if (!info.simulated || info.machine_json != machine_json) continue;
    const std::string costs = reader->CostModelOf(info.id);
    if (costs.empty()) continue;
    KeptCosts kept{info.id, ParseCostTable(costs)};
    if (kept.table.has_interference) return kept;
  }
  return {};
}

}  // namespace

Calibration CalibrateFromTrace(const std::string& path, const std::string& graph, int preferred,
                               const std::string& machine_json, const std::atomic<bool>& cancelled) {
  Calibration calibration;
  TraceReader reader(path);
  const std::vector<TraceRunInfo> runs = ChooseRuns(&reader, graph, preferred, machine_json);
  if (runs.empty()) {
    calibration.note = fmt::format("uncalibrated: the trace has no measured run of {}", graph);
    calibration.costs = std::make_shared<const CalibratedCost>(CostTable());
    return calibration;
  }
  const Machine machine = ParseMachine(runs.front().machine_json);
  CalibrationInput all;
  for (size_t i = 0; i < runs.size(); ++i) {
    const TraceRun run = reader.ReadRun(runs[i].id);
    for (int number = 0; number < NumSchedules(run); ++number) {
      if (cancelled.load(std::memory_order_relaxed)) Throw(Code::kCancelled, "calibration was cancelled");
      const RecordedSchedule recorded = ReadSchedule(run, number, machine);
      CalibrationInput found = SamplesOf(recorded.schedule, recorded.work, recorded.events, machine);
      if (i == 0 && number == 0) {
        all = std::move(found);
      } else {
        AddSamples(found, &all);
      }
    }
  }
  calibration.note = NoteOf(runs);
  const KeptCosts kept = FindKeptCosts(&reader, runs.front().machine_json);
  CostTable table = FitCosts(all, kept.table.fetches, machine, calibration.note);
  if (kept.run > 0) {
    table.has_interference = true;
    table.interference = kept.table.interference;
    table.gaps.handoff_ns = kept.table.gaps.handoff_ns;
    for (const CopyFit& copy : kept.table.copies) {
      const bool known = std::any_of(table.copies.begin(), table.copies.end(), [&](const CopyFit& fit) {
        return fit.src == copy.src && fit.dst == copy.dst;
      });
      if (!known) table.copies.push_back(copy);
    }
    calibration.note += fmt::format("; interference as in run {}", kept.run);
  }
  calibration.costs = std::make_shared<const CalibratedCost>(std::move(table));
  calibration.calibrated = true;
  return calibration;
}

}  // namespace lanescope::gui
