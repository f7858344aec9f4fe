// SPDX-License-Identifier: Apache-2.0
// The simulator's model beside a schedule and the costs of its commands.
#pragma once

#include <optional>

#include "sims/engine/delays.h"
#include "sims/engine/interference.h"

namespace lanescope::sims {

// How often a GPU's front end looks at other streams while compute streams of several logical devices have
// work, each time for as long as the stream's gap: between two commands, from one to that of another stream
// which waits for it, and in the course of one: once if it follows its stream's last one at once, and once if
// a command of another stream runs.
struct FrontEndLooks {
  double between = 0, handing_over = 0, within = 0;
};

// Effects add to it (sims/effects/effect.h); what none of them added takes no time.
struct SimulationModel {
  Delays delays = {};
  // Times of streams, whose commands are issued ahead of time. None: that takes nothing and orders nothing.
  std::optional<StreamIssueTimes> issue = {};
  FrontEndLooks front_end = {};  // with `issue` alone
  // Slowdowns of devices that share cores or one GPU. None: commands do not slow each other down.
  std::optional<Interference> interference = {};
  bool share_links = false;  // concurrent copies share links; false: each takes its time alone
};

}  // namespace lanescope::sims
