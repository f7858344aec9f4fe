// SPDX-License-Identifier: Apache-2.0
// Random schedules over every kind of queue, for tests that compare or check simulations.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "tests/sims/schedule_maker.h"

namespace lanescope::sims {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }

 private:
  std::mt19937 engine_;
};

// Devices with a compute and two copy queues each, and a random graph of 5 to `most` commands over them. The
// copies are as fast as their links, slower, or faster.
inline ScheduleMaker RandomSchedule(const Machine& machine, int most, Random* random) {
  ScheduleMaker maker;
  IdVector<DeviceId, QueueId> compute, in, out;
  const bool in_order = random->below(2) == 0;
  for (const DeviceId d : machine.devices.ids()) {
    compute.Add(maker.Queue(d, QueueKind::kCompute, in_order));
    in.Add(maker.Queue(d, QueueKind::kCopyIn, random->below(3) == 0));
    out.Add(maker.Queue(d, QueueKind::kCopyOut));
  }
  const int total = 5 + random->below(most - 5);
  for (int c = 0; c < total; ++c) {
    std::vector<CommandId> after;
    for (int p = 0; p < c; ++p) {
      if (random->below(c) < 2) after.emplace_back(p);
    }
    const DeviceId device(random->below(machine.num_devices()));
    const DeviceId other(random->below(machine.num_devices()));
    if (random->below(2) == 0 || other == device) {
      maker.Launch(compute[device], 1 + random->below(100'000'000), after);
    } else {
      const QueueId queue = (random->below(2) == 0 ? in : out)[device];
      const int64_t bytes = random->below(50'000'000);
      const Route route = machine.RouteBetween(other, device);
      const auto plain = route.latency_ns + std::llround(static_cast<double>(bytes) / route.bandwidth * 1e9);
      const int64_t ns = random->below(2) == 0 ? plain : plain / 2 + random->below(60'000'000);
      maker.Copy(queue, other, device, bytes, ns, after);
    }
  }
  return maker;
}

}  // namespace lanescope::sims
