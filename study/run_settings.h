// How steps of a run are made and what of them is recorded, as `lanescope run` and the timeline ask for it.
#pragma once

#include <cstdint>
#include <optional>

#include "exec/device_options.h"

namespace lanescope::study {

struct RunSettings {
  std::optional<uint64_t> seed;  // of what has no seed of its own: random ops, generated feeds
  exec::DeviceOptions devices;
  int64_t timeout_ns = 0;  // of a step; 0: none
};

// What of the GPUs a trace holds beside commands.
enum class Profile {
  kOff,
  kKernels,  // kernels, copies and memory sets
  kFull,     // and API calls, synchronizations, overheads
};

}  // namespace lanescope::study
