// SPDX-License-Identifier: Apache-2.0
// From recorded runs and microbenchmarks to a cost table.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "sims/cost/cost_table.h"

namespace lanescope {
struct Event;
}  // namespace lanescope

namespace lanescope::sims {
struct CalibrationInput;
struct InputRun;
}  // namespace lanescope::sims

namespace lanescope::traces {
class TraceReader;
struct TraceRun;
}  // namespace lanescope::traces

namespace lanescope::study {

class RecordedRun;
struct MachineMeasurement;

// Costs of the threads that fill a run's queues. `events`: those of its steps, as far as they count. Refers
// to all three.
sims::InputRun InputRunOf(const RecordedRun& run, const Machine& machine, std::span<const Event> events);

// Samples and gaps of a run (options.keep_events). `counts` says of every recorded step whether it does.
sims::CalibrationInput SamplesOf(const RecordedRun& run, const Machine& machine,
                                 const std::vector<char>& counts);
// Does that from a trace file, which holds signatures instead of the graph.
sims::CalibrationInput SamplesOf(const traces::TraceRun& run, const Machine& machine, int warmup_steps = 0);

// `measured` may be null: no interference, no fetches, and the hand-offs of the run itself.
sims::CostTable FitCosts(const sims::CalibrationInput& input, const MachineMeasurement* measured,
                         const Machine& machine, const std::string& calibrated_on);

// The costs with which a prediction of a file was made.
struct KeptCosts {
  int run = 0;  // 0: none was kept
  sims::CostTable table;

  // The effects that microbenchmarks measured; none where none was kept.
  sims::EffectSet measured() const { return run > 0 ? table.effects : sims::EffectSet(); }
};
// The first prediction on this machine that kept what microbenchmarks gave it says them.
KeptCosts FindKeptCosts(traces::TraceReader* reader, const std::string& machine_json);
// With what takes microbenchmarks as it was kept, copies too.
sims::CostTable FitCosts(const sims::CalibrationInput& input, const KeptCosts& kept, const Machine& machine,
                         const std::string& calibrated_on);

// Costs of one measured run of a file, and, from the first prediction on its machine that kept its costs,
// what takes microbenchmarks: interference, fetches, hand-offs and copies. Throws what TraceReader and
// ReadSchedule throw.
sims::CostTable CalibrateOnRun(traces::TraceReader* reader, int run);

struct TraceCalibration {
  sims::CostTable table;    // empty when not calibrated
  bool calibrated = false;  // false: the trace has no measured run of the graph
};
// Takes the launches and copies of the measured runs of this graph in the file: of run `preferred` if it is
// one, else of the first (on the machine `machine_json`, if there is one), and of all on the same machine as
// that one. Gaps and common spread are that run's. What takes microbenchmarks (interference, fetches,
// hand-offs, copies that no run made) comes from the first prediction on that machine that kept its costs.
// The table says so: "runs 1, 2; interference as in run 3". Throws what TraceReader and ReadSchedule throw,
// Cancelled soon after `cancelled` becomes true.
TraceCalibration CalibrateFromTrace(const std::string& path, const std::string& graph, int preferred,
                                    const std::string& machine_json, const std::atomic<bool>& cancelled);

}  // namespace lanescope::study
