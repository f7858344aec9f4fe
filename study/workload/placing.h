// SPDX-License-Identifier: Apache-2.0
// A workload under a strategy, and compiled for a machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "core/place/placement.h"
#include "core/place/wire_format.h"
#include "core/schedule/cost.h"
#include "core/schedule/schedule.h"
#include "study/base/cancellation.h"
#include "study/workload/workload.h"

namespace lanescope::study {

struct PlaceOptions {
  int64_t program_timeout_s = 600;       // that an exec:PROGRAM may take
  std::vector<NodeId>* order = nullptr;  // if not null: nodes in the order in which the placer took them
  Cancellation* cancellation = nullptr;  // of programs
  WireFormat wire =
      WireFormat::kFloat32;  // of tensors between tasks: others than this are written into the graph
};

// A row of `compare`. The workload must outlive it, unless the strategy or the wire format wrote
// another one.
struct PlacedGraph {
  const Workload* workload = nullptr;
  std::string strategy;
  Placement placement;
  std::shared_ptr<const Workload> written = nullptr;  // what `workload` then is
};

// Whether collectives of a step on this machine are joint launches where they can be: on GPUs of hardware
// with NCCL, on those of a modelled cluster, and where `all_reduce` is "nccl" on all that are not virtual.
// "": as fits the machine.
bool TakesJointLaunches(const Machine& machine, const std::string& all_reduce);

// `strategy` is as of PlaceByStrategy, or exec:PROGRAM. Where it puts joint launches so that they cannot
// run, they become copies, in a workload that is written for it. Throws what PlaceByStrategy,
// GraphStrategy::rewrite and PlaceByProgram throw.
PlacedGraph Place(const Workload& workload, const std::string& strategy, const Machine& machine,
                  const CostModel& costs, const PlaceOptions& options = {});

// Sends float32 tensors in that format between tasks: a workload of its own (WriteWireFormat).
PlacedGraph OnWire(PlacedGraph placed, const Machine& machine, WireFormat format);

// Without running it. Throws what Compile throws.
Schedule CompileStep(const PlacedGraph& placed, const Machine& machine);

}  // namespace lanescope::study
