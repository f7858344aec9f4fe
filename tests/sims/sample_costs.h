// SPDX-License-Identifier: Apache-2.0
// A table of costs with a number in every place, for tests of its file and of what is read from it.
#pragma once

#include <string>

#include "sims/cost/cost_model.h"
#include "sims/effects/cache_transfers.h"
#include "sims/effects/front_end.h"
#include "sims/effects/issue.h"
#include "sims/effects/stream_handoff.h"
#include "sims/engine/interference.h"
#include "tests/sims/effects_of.h"

namespace lanescope::sims {

inline CostTable SampleTable() {
  CostTable table;
  table.calibrated_on = "two \"virtual\" GPUs, run 1";
  table.common_spread = 0.02;
  for (int i = 1; i <= 4; ++i) {
    const std::string op = i == 4 ? "Other" : "MadeUp";
    table.launches.push_back({.signature = op + "()->float[" + std::to_string(i) + "]",
                              .op = op,
                              .device = "modelled",
                              .ns = 100 + 10 * i,
                              .spread_ns = i,
                              .count = 20,
                              .work = {i, 4 * i}});
  }
  table.copies.push_back({.src = DeviceKind::kModelled,
                          .dst = DeviceKind::kModelled,
                          .overhead_ns = 250,
                          .factor = 1.5,
                          .spread = 0.1,
                          .count = 9,
                          .min_bytes = 1000,
                          .max_bytes = 100'000});
  Delays delays;
  for (auto& classes : delays.gap_ns) classes = {1, 2, 0, 5};
  delays.handoff_ns = {{{3, 4, 14}, {5, 6, 15}, {16, 17, 18}}};
  delays.signal_ns = 19;
  delays.message_overhead_ns = 20;
  delays.message_byte_ns = 0.25;
  delays.step_start_ns = 8;
  delays.step_finish_ns = 9;
  delays.wake_ns[0] = {10, 11};
  Interference interference;
  interference.host = {.cores = 2, .copy_cores = 0.25};
  interference.gpu.slowdown = {{{1, 1.1, 1.2}, {1.3, 1.4, 1.5}, {1.6, 1.7, 1.8}}};
  table.effects = EffectsOf(delays, &interference);
  CacheTransfers fetches;
  fetches.curve = CacheTransferCurve({{64, 12}, {128, 13}});
  table.effects.Put(fetches);
  Issue issue;
  issue.times = {.single_ns = 21, .segment_ns = 22, .recorded_ns = 23, .feed_byte_ns = 0.5};
  table.effects.Put(issue);
  StreamHandOff streams;
  streams.between_ns = 24;
  streams.to_host_ns = 25;
  table.effects.Put(streams);
  FrontEnd front_end;
  front_end.look_ns = 26;
  table.effects.Put(front_end);
  return table;
}

}  // namespace lanescope::sims
