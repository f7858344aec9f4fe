// What the simulator knows beside a schedule and the costs of its commands.
#pragma once

#include <optional>

#include "sims/engine/delays.h"
#include "sims/engine/interference.h"

namespace lanescope::sims {

// Effects add to it (sims/effects/effect.h); what none of them added takes no time.
struct SimulationModel {
  Delays delays = {};
  // Of streams, whose commands are issued ahead of time. None: that takes nothing and orders nothing.
  std::optional<StreamIssueTimes> issue = {};
  // Of devices that share cores or one GPU. None: commands do not slow each other down.
  std::optional<Interference> interference = {};
  bool share_links = false;  // concurrent copies share links; false: each takes its time alone
};

}  // namespace lanescope::sims
