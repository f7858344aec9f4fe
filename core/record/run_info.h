// SPDX-License-Identifier: Apache-2.0
// Everything about one run that its trace must say beside the events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/machine/machine.h"
#include "core/place/placement.h"
#include "core/schedule/schedule.h"

namespace lanescope {

struct RunInfo {
  bool simulated = false;
  bool emulated = false;  // virtual devices or emulated links took part
  std::string strategy;
  std::string graph_name;     // file name without folders
  std::string prediction_of;  // simulated: "calibrated on run N" or "uncalibrated"
  std::string cost_model;     // simulated: the cost file (JSON) that it was predicted with; empty: none
  bool in_sample = false;     // its own measurement calibrated the prediction
  // Simulated: of the commands' time, what goes by no measurement of the op in its size, and what of that
  // goes by other ops, far sizes or nothing.
  double uncalibrated_share = 0, extrapolated_share = 0;
  const Graph* graph = nullptr;  // these four must outlive the writing of the run
  const Machine* machine = nullptr;
  const Placement* placement = nullptr;
  const GraphInfo* info = nullptr;
};

}  // namespace lanescope
