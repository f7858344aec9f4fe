// SPDX-License-Identifier: Apache-2.0
// Measures messages between the processes of a job.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/messages/transport.h"

namespace lanescope::exec {

struct MessageTime {
  int from = 0, to = 0;  // ranks
  int64_t bytes = 0;
  int64_t ns = 0;       // one way, alone; median
  int64_t both_ns = 0;  // while one of the same size goes the other way; median
};

// Every pair of processes in turn, alone, over sizes from nothing to `max_bytes`, or to one that takes a
// quarter of a second, with the waiting that steps have. A size that takes long is measured three times only.
// All processes call it and all get the times.
std::vector<MessageTime> MeasureNetwork(Transport* transport, int64_t max_bytes = int64_t{16} << 20,
                                        int repetitions = 21);

// The rate at which `inside`, processes with one network interface, send to all others at once (or, of
// `receives`, receive from them): bytes per second in all, with so many of each to each; median. All
// processes call it and all get it. 0 where there are no others.
double MeasureInterface(Transport* transport, const std::vector<int>& inside, bool receives, int64_t bytes,
                        int repetitions = 3);

}  // namespace lanescope::exec
