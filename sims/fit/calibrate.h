// SPDX-License-Identifier: Apache-2.0
// From measured executions to a cost table. What the samples are read from is the caller's business.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/graph/op.h"
#include "core/machine/machine.h"
#include "sims/cost/cost_table.h"
#include "sims/steps/measured_steps.h"

namespace lanescope::sims {

struct OpSample {
  std::string signature;  // OpSignature
  std::string op;
  std::string device;  // CostDevice
  OpWork work;
  int64_t ns = 0;
  int step = 0;
  int64_t fetched_bytes = 0;  // FetchedBytes of its command
  DeviceId ran_on{0};         // number of the machine
};

struct CopySample {
  DeviceId src{0}, dst{0};  // device numbers of the machine
  int64_t bytes = 0;
  int64_t ns = 0;
  int step = 0;
};

// Samples of one thing.
struct SampleSummary {
  int64_t ns = 0;         // median
  int64_t spread_ns = 0;  // nine in ten lie at most this far from it
  int64_t count = 0;
};
// Empty input: zeros.
SampleSummary Summarise(const std::vector<int64_t>& ns);

// Steps below `warmup_steps` do not count. Samples without a positive time do not either (a timer too coarse
// to see the op) unless an op has no other. Fills launches and copies of the table, sorted.
CostTable CalibrateCosts(std::span<const OpSample> ops, std::span<const CopySample> copies,
                         const Machine& machine, int warmup_steps);

// Relative half width (nine in ten) of the step times around their median, from what is common to a whole
// step; at most 1.
double EstimateCommonSpread(std::span<const MeasuredStep> steps);

}  // namespace lanescope::sims
