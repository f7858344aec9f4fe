// SPDX-License-Identifier: Apache-2.0
// Costs that a table lacks for a graph, and their measurement.
#pragma once

#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "core/schedule/cost.h"
#include "sims/cost/cost_table.h"
#include "sims/fit/calibrate.h"
#include "study/base/cancellation.h"
#include "study/workload/workload.h"

namespace lanescope::study {

// Launches of one signature on one kind of device that no measurement stands for.
struct MissingCost {
  NodeId node;      // the first such
  DeviceId device;  // of the machine
  std::string signature, op;
  CostBasis basis = CostBasis::kNothing;  // what their time goes by instead
  int launches = 0;                       // in a step
  int64_t ns = 0;                         // of all of them, so estimated
};

// Ops of a step on one GPU and the host, longest first. Other placements run the same ops, on devices of the
// same kinds.
std::vector<MissingCost> FindMissingCosts(const Workload& workload, const Machine& machine,
                                          const sims::CostTable& table);

struct MissingMeasurement {
  std::vector<sims::OpSample> samples;
  // That cannot run by themselves: updates of variables, unknown sizes, strings.
  std::vector<MissingCost> left;
};
// Runs every one of them by itself some times, on made-up inputs of its sizes. Throws Cancelled.
MissingMeasurement MeasureMissing(const Workload& workload, const Machine& machine,
                                  const std::vector<MissingCost>& missing, Cancellation* cancellation);

}  // namespace lanescope::study
