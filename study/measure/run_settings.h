// SPDX-License-Identifier: Apache-2.0
// How steps of a run are made and what of them is recorded, as `lanescope run` and the timeline ask for it.
#pragma once

#include <cstdint>
#include <optional>

#include "core/record/capture_mode.h"
#include "exec/device/device_options.h"

namespace lanescope::study {

struct RunSettings {
  std::optional<uint64_t> seed;  // of what has no seed of its own: random ops, generated feeds
  exec::DeviceOptions devices;
  int64_t timeout_ns = 0;  // of a step; 0: none
};

// A run of its own, from warm-up to end.
struct RunRequest {
  RunSettings settings;
  int warmup = 2;  // steps that are not recorded
  int steps = 10;
  CaptureMode profile = CaptureMode::kOff;
};
inline constexpr int kMaxWarmup = 1'000'000;
inline constexpr int kMaxSteps = 100'000'000;
inline constexpr int64_t kMaxTimeoutMs = 86'400'000;

}  // namespace lanescope::study
