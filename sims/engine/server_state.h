// SPDX-License-Identifier: Apache-2.0
// The state of a server at a point of virtual time. Included by the simulator's loop alone.
// Internal to sims.
#pragma once

#include <cstdint>

#include "core/time/ticks.h"
#include "sims/engine/interference.h"

namespace lanescope::sims {

struct ServerState {
  // The phase of the running command: its end is fixed; it has begun but moves nothing yet; it works at 1 /
  // slowdown; its bytes flow over links. kWaking: nothing runs, the driver has been woken and is not awake
  // yet. Of a message: it is about to begin; its progress threads work on it or will, before it moves or
  // after it has.
  enum class Phase : uint8_t {
    kFixed,
    kWaking,
    kWaiting,
    kWorking,
    kFlowing,
    kPosting,
    kSending,
    kReceiving
  };
  static constexpr int kIdle = -1;
  static constexpr int kAsleep = INT32_MAX;  // in `running`, until the driver is awake

  int running = kIdle;
  bool active = false;  // counted in its domain's load
  bool is_progress_thread = false;
  Phase phase = Phase::kFixed;
  WorkClass load_class = WorkClass::kMemory;
  Ticks free_at = 0;
  Ticks started = 0;
  // kWorking: ticks of work left at `updated`, done at 1 / slowdown.
  double remaining = 0;
  double slowdown = 1;
  Ticks updated = 0;
  double cores = 0;  // that the running command asks for, while active
};

}  // namespace lanescope::sims
