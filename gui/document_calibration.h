// From the measured runs of a trace to a cost model.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/machine.h"
#include "sims/cost_model.h"

namespace lanescope::gui {

struct Calibration {
  std::shared_ptr<const CalibratedCost> costs;
  std::string
      note;  // "calibrated on runs 1, 2"; "uncalibrated: the trace has no measured run of graph.pbtxt"
  bool calibrated = false;
};

// Takes the launches and copies of every measured run of this graph in the file, on devices of `machine`.
// Gaps and common spread come from run `preferred` if it is measured, else from the first measured one.
// Without a measured run costs come from the machine's rates. Throws what TraceReader throws, Cancelled.
Calibration CalibrateFromTrace(const std::string& path, const std::string& graph, int preferred,
                               const Machine& machine, const std::atomic<bool>& cancelled);

}  // namespace lanescope::gui
