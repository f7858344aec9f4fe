// SPDX-License-Identifier: Apache-2.0
// Interprets a Schedule in virtual time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/machine/machine.h"
#include "core/machine/work_class.h"
#include "core/record/event.h"
#include "core/schedule/schedule.h"

namespace lanescope::sims {

struct SimulationModel;

// The cost of each command, by command. Record and Wait cost nothing unless given.
struct CommandCosts {
  // ns that the command takes alone on the machine. For a copy this includes the latency of its route.
  IdVector<CommandId, int64_t> ns;
  // Used with interference only. Empty: every launch is kMemory, on all workers of its device, or on one
  // where its queue has workers to share. Copies are always kCopy.
  IdVector<CommandId, WorkClass> classes = {};
  IdVector<CommandId, int> cores = {};
};

// When a command ran: ns from the beginning of the step.
struct CommandTime {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

struct SimulationResult {
  int64_t step_ns = 0;  // with the overheads of the step
  IdVector<CommandId, CommandTime> times;
  IdVector<QueueId, int64_t> queue_busy_ns;  // lengths of the queue's commands, added up
};

// The semantics. A queue picks commands by core's ReadyQueue, which says how many may run at once, at the
// moment that one of its commands ends; Delays says when the picked command starts, on the worker that is
// free first. At one instant all ends come first, then every queue picks; commands of length zero repeat this
// within the instant. A copy between devices passes
// its route's latency, then moves its bytes at the max-min fair rate of the route's resources (FairShare),
// limited so that alone it takes exactly its given time. A launch advances at 1 / Slowdown.
//
// Prepared once from a schedule, then run any number of times with different costs. Borrows the schedule;
// copies what it needs of the machine. Not thread-safe: one Simulator a thread. Same input, same bits.
class Simulator {
 public:
  // Throws NotFound when a copy has no route.
  Simulator(const Schedule& original, const Machine& machine, const SimulationModel& model);
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // Reuses the memory of `result`. Throws InvalidArgument for costs of the wrong number or outside
  // [0, 26 days], OutOfRange when virtual time exceeds 26 days, FailedPrecondition when commands wait for
  // each other in a circle.
  void Run(const CommandCosts& costs, SimulationResult* result);

  // Run's step time for many costs that are near each other: where the order of `result`, a
  // result of Run, is sure to stay, one pass over the commands replaces the simulation. Throws what Run does.
  void Freeze(const SimulationResult& result);
  int64_t StepNs(const CommandCosts& costs);
  // How many of the times since Freeze came from a pass.
  int passes() const;

 private:
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

// One run of a Simulator.
SimulationResult Simulate(const Schedule& schedule, const Machine& machine, const CommandCosts& costs,
                          const SimulationModel& model);

// Whether the command orders others on a stream and runs nothing: then no event says when.
bool RunsNothing(const Schedule& schedule, CommandId command);

// The launches and copies that run something and the step itself, as step `step` that begins at `begin_ns`.
std::vector<Event> EventsOfStep(const Schedule& schedule, const SimulationResult& result, int step = 0,
                                int64_t begin_ns = 0);
// Sends these to `sink`, `steps` times back to back from time
// `origin_ns`. Steps do not overlap, so that they are all alike.
void PublishSteps(const Schedule& schedule, const SimulationResult& result, int steps, int64_t origin_ns,
                  EventSink* sink);

}  // namespace lanescope::sims
