// SPDX-License-Identifier: Apache-2.0
// Findings of microbenchmarks of a machine, from which effects take their numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/machine/work_class.h"
#include "sims/effects/cache_transfer_cost.h"
#include "sims/engine/computers.h"

namespace lanescope::sims {

struct MachineFigures {
  int cores = 0;                               // of the first computer
  std::vector<OtherComputer> other_computers;  // of a job
  double copy_cores = 0;                       // that a paced copy keeps busy
  int64_t slice_ns = 0;                        // that a thread may keep its core while others wait
  SlowdownMatrix gpu_slowdown{{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}};  // of commands side by side on a GPU
  std::vector<CacheTransferCurve::Point> fetches;                  // bytes that another core wrote
  // A task's thread that moves messages has these; none where no messages were measured.
  struct Message {
    int64_t end_ns = 0;
    double byte_ns = 0;
  };
  std::optional<Message> message;
};

}  // namespace lanescope::sims
