// SPDX-License-Identifier: Apache-2.0
// The results of calibration: the content of a cost file (docs/reference/cost-model.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/op.h"
#include "core/machine/machine.h"
#include "sims/cost/input_costs.h"
#include "sims/effects/effect.h"

namespace lanescope::sims {

// One op signature on one kind of device. `ns` is what a launch adds to a step: the mean of its
// executions.
struct LaunchCost {
  std::string signature;  // OpSignature
  std::string op;
  std::string device;     // CostDevice
  int64_t ns = 0;         // mean
  int64_t spread_ns = 0;  // half width of the interval of nine in ten
  int64_t count = 0;      // executions
  OpWork work;
};

// Copies between two kinds of device: ns = overhead_ns + factor * (time by the machine file).
struct CopyFit {
  DeviceKind src = DeviceKind::kHost;
  DeviceKind dst = DeviceKind::kHost;
  double overhead_ns = 0;
  double factor = 1;
  double spread = 0;  // nine of ten copies lie within this fraction
  int64_t count = 0;
  int64_t min_bytes = 0, max_bytes = 0;  // of the measured copies
};

struct CostTable {
  std::string calibrated_on;  // free text for people: machine, run, strategy
  std::vector<LaunchCost> launches;
  std::vector<CopyFit> copies;
  EffectSet effects = UnmeasuredEffects();
  InputCosts input;          // of the threads that filled the run's queues, if any did
  double common_spread = 0;  // relative half width of what moves a whole run together (clock, neighbours)

  // Whether effects were measured that take microbenchmarks.
  bool has_microbenchmarks() const;
};

// Properties of a device that determine the time of a launch: kind, model, and host workers or share of
// multiprocessors ("virtual 2 workers", "cuda Tesla K80").
std::string CostDevice(const DeviceSpec& device);

// Throw InvalidArgument naming the entry and key. ReadCostTable also NotFound.
CostTable ParseCostTable(std::string_view json);
CostTable ReadCostTable(const std::string& path);
std::string CostTableToJson(const CostTable& table);

}  // namespace lanescope::sims
