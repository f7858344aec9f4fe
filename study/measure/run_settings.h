// How steps of a run are made and what of them is recorded, as `lanescope run` and the timeline ask for it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "exec/device/device_options.h"

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
inline constexpr std::array<std::string_view, 3> kProfileNames = {"off", "kernels", "full"};

// A run of its own, from warm-up to end.
struct RunRequest {
  RunSettings settings;
  int warmup = 2;  // steps that are not recorded
  int steps = 10;
  Profile profile = Profile::kOff;
};
inline constexpr int kMaxWarmup = 1'000'000;
inline constexpr int kMaxSteps = 100'000'000;
inline constexpr int64_t kMaxTimeoutMs = 86'400'000;

}  // namespace lanescope::study
