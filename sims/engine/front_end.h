// SPDX-License-Identifier: Apache-2.0
// Whether streams of several logical devices have work on a GPU at a moment of virtual time. Included by the
// simulator's loop alone. Internal to sims.
#pragma once

#include <vector>

#include "core/time/ticks.h"
#include "sims/engine/simulation_plan.h"

namespace lanescope::sims {

// Owned and used by one loop; asked where there are such GPUs alone.
class FrontEnds {
 public:
  explicit FrontEnds(const SimulationPlan& plan)
      : plan_(plan), left_(plan.servers_of.size(), 0), gpus_(static_cast<size_t>(plan.gpus)) {}

  // A command that takes `duration` begins now on the stream's server, which is free at `free_at`. Where
  // other streams have work it takes longer, and begins at the returned time at the soonest.
  Ticks Begin(const Server& server, Ticks free_at, Ticks now, Ticks* duration) {
    const QueueId queue = server.queue;
    const auto gap = static_cast<double>(server.gap);
    // A command that another stream hands over to begins when the front end is with its stream.
    const bool goes_on = free_at >= now;
    if (*duration > 0) *duration += static_cast<Ticks>(gap * Within(queue, goes_on));
    if (plan_.gpu_of[queue] >= 0) ++gpu(queue).running;
    return free_at > 0 ? free_at + static_cast<Ticks>(gap * Between(queue)) : free_at;
  }
  // The command of the queue has ended; it ran, or was a mark. What it issued is there.
  void End(QueueId queue, CommandId command, bool ran) {
    for (const auto& [stream, commands] : (*plan_.issued)[command]) Add(stream, commands);
    if (plan_.gpu_of[queue] < 0) return;
    if (ran) --gpu(queue).running;
    Add(queue, -1);
  }

  // Time that passes more until a command of another stream goes on.
  double HandingOver(QueueId queue) const { return IsCrowded(queue) ? plan_.front_end.handing_over : 0; }

 private:
  struct Gpu {
    int open = 0;     // compute streams with commands that were issued and have not ended
    int running = 0;  // commands of its streams
  };
  Gpu& gpu(QueueId queue) { return gpus_[static_cast<size_t>(plan_.gpu_of[queue])]; }
  const Gpu& gpu(QueueId queue) const { return gpus_[static_cast<size_t>(plan_.gpu_of[queue])]; }
  // Time that passes more between two commands of the stream now, in gaps of it, and in the course of the
  // next, which `goes_on` at once or has waited.
  double Between(QueueId queue) const { return IsCrowded(queue) ? plan_.front_end.between : 0; }
  double Within(QueueId queue, bool goes_on) const {
    if (!IsCrowded(queue)) return 0;
    return plan_.front_end.within * (static_cast<int>(goes_on) + static_cast<int>(gpu(queue).running > 0));
  }
  bool IsCrowded(QueueId queue) const { return plan_.gpu_of[queue] >= 0 && gpu(queue).open > 1; }
  void Add(QueueId queue, int commands) {
    if (plan_.gpu_of[queue] < 0) return;
    const bool was = left_[queue] > 0;
    left_[queue] += commands;
    if (plan_.computes[queue]) gpu(queue).open += static_cast<int>(left_[queue] > 0) - static_cast<int>(was);
  }

  const SimulationPlan& plan_;
  IdVector<QueueId, int> left_;
  std::vector<Gpu> gpus_;
};

}  // namespace lanescope::sims
