// SPDX-License-Identifier: Apache-2.0
// Whether streams of several logical devices have work on a GPU at a moment of virtual time. Included by the
// simulator's loop alone. Internal to sims.
#pragma once

#include <vector>

#include "sims/engine/simulation_plan.h"

namespace lanescope::sims {

// Owned and used by one loop; asked where there are such GPUs alone.
class FrontEnds {
 public:
  explicit FrontEnds(const SimulationPlan& plan)
      : plan_(plan), left_(plan.servers_of.size(), 0), gpus_(static_cast<size_t>(plan.gpus)) {}

  // What the launch issued of its unit's commands.
  void Issue(CommandId launch) {
    for (const auto& [queue, commands] : (*plan_.issued)[launch]) Add(queue, commands);
  }
  // A command of the stream has ended; it ran, or was a mark.
  void End(QueueId queue, bool ran) {
    if (plan_.gpu_of[queue] < 0) return;
    if (ran) --gpu(queue).running;
    Add(queue, -1);
  }
  void Begin(QueueId queue) {
    if (plan_.gpu_of[queue] >= 0) ++gpu(queue).running;
  }

  // Time that passes more between two commands of the stream now, in gaps of it, and in the course of the
  // next, which `goes_on` at once or has waited.
  double Between(QueueId queue) const { return IsCrowded(queue) ? plan_.front_end.between : 0; }
  double Within(QueueId queue, bool goes_on) const {
    if (!IsCrowded(queue)) return 0;
    return plan_.front_end.within * (static_cast<int>(goes_on) + static_cast<int>(gpu(queue).running > 0));
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
