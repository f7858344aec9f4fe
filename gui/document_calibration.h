// From the measured runs of a trace to a cost model.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "sims/cost_model.h"

namespace lanescope::gui {

struct Calibration {
  std::shared_ptr<const CalibratedCost> costs;
  // "calibrated on runs 1, 2; interference as in run 3"; "uncalibrated: the trace has no measured run of
  // graph.pbtxt"
  std::string note;
  bool calibrated = false;
};

// Takes the launches and copies of the measured runs of this graph in the file: of run `preferred` if it is
// one, else of the first (on the machine `machine_json`, if there is one), and of all on the same machine as
// that one. Gaps and common spread are that run's. What takes microbenchmarks (interference, fetches,
// hand-offs, copies that no run made) comes from the first prediction on that machine that kept its costs.
// Without a measured run costs come from the machine's rates. Throws what TraceReader and ReadSchedule throw,
// Cancelled.
Calibration CalibrateFromTrace(const std::string& path, const std::string& graph, int preferred,
                               const std::string& machine_json, const std::atomic<bool>& cancelled);

}  // namespace lanescope::gui
