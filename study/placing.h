// A workload under a strategy, and compiled for a machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "core/place/placement.h"
#include "core/schedule/cost.h"
#include "core/schedule/schedule.h"
#include "study/cancellation.h"
#include "study/workload.h"

namespace lanescope::study {

struct PlaceOptions {
  int64_t program_timeout_s = 600;       // that an exec:PROGRAM may take
  std::vector<NodeId>* order = nullptr;  // if not null: nodes in the order in which the placer took them
  Cancellation* cancellation = nullptr;  // of programs
};

// What `compare` calls a row. The workload must outlive it, unless the strategy wrote another one.
struct PlacedGraph {
  const Workload* workload = nullptr;
  std::string strategy;
  Placement placement;
  std::shared_ptr<const Workload> written = nullptr;  // what `workload` then is
};

// `strategy` is a name, @placement.json or exec:PROGRAM. Throws what PlaceByStrategy, GraphStrategy::rewrite
// and PlaceByProgram throw.
PlacedGraph Place(const Workload& workload, const std::string& strategy, const Machine& machine,
                  const CostModel& costs, const PlaceOptions& options = {});

// Without running it. Throws what Compile throws.
Schedule CompileStep(const PlacedGraph& placed, const Machine& machine);

}  // namespace lanescope::study
