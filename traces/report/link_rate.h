// SPDX-License-Identifier: Apache-2.0
// The bandwidth of the links between a job's GPUs, to hold that of collectives against.
#pragma once

#include <cstdint>
#include <string>

namespace lanescope {
class Machine;
}

namespace lanescope::traces {

struct TraceRun;

// Bytes per second that a GPU can send to others, each way; 0: not known. Value type.
struct LinkRate {
  double within = 0;   // of one machine
  double across = 0;   // of machines; where `gpus` is 0, the same as within
  int64_t gpus = 0;    // of a machine; 0: all
  std::string source;  // "machine file k80x2.json"; empty: nobody says

  double Of(int64_t ranks) const { return gpus > 0 && ranks > gpus ? across : within; }
};

// The fastest route between two of its GPUs, or of a cluster what a GPU has of its node's switch and network.
LinkRate LinkRateOf(const Machine& machine, std::string source);

// As the trace says it, by the first of these that does: the machine of the run, NVLink connections that were
// found while it was recorded, the data sheet of the GPUs' model, where it is one that has NVLink whatever it
// is built into (SXM modules).
LinkRate LinkRateOf(const TraceRun& run);

}  // namespace lanescope::traces
