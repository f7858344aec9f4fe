// An ensemble: as many copies of one network as the machine has GPUs, each on a GPU of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/graph/tensor.h"
#include "core/machine/machine.h"
#include "study/cancellation.h"
#include "study/notes.h"
#include "study/run_settings.h"
#include "study/workload.h"
#include "traces/record/trace_writer.h"

namespace lanescope::study {

inline constexpr int kMaxReplicas = Cancellation::kMaxRunning;

struct EnsembleOptions {
  RunRequest run;
  // One graph that holds all networks, one session: a step is one of each. Otherwise every network is a
  // session of its own and waits for no other.
  bool in_graph = false;
  traces::TraceWriter* writer = nullptr;  // may be null: nothing is written
  Cancellation* cancellation = nullptr;
  Notes note = nullptr;  // from one thread at a time
  // Called with the number of recorded steps that all networks together have run, from one thread at a time.
  std::function<void(int64_t)> on_step = nullptr;
};

struct Replica {
  DeviceId device;
  int run_id = 0;  // in the trace, if there is one; in one graph all have the same
  std::vector<int64_t> step_ns;
  double steps_per_second = 0;  // from the beginning of its first recorded step to the end of its last
  std::vector<Tensor> fetches;  // of its last step
};

struct Ensemble {
  std::vector<Replica> replicas;
  double steps_per_second = 0;        // of all, from the beginning of the first step to the end of the last
  double alone_steps_per_second = 0;  // of the first network while no other ran, before, in a second at most
};

// Every network is placed by `single`, but on its GPU; without GPUs there is one, on the host. The seed of
// network r is the run's (0 where there is none) and r. Warmed up, all begin together. Throws InvalidArgument
// for more GPUs than kMaxReplicas, and what the steps throw; the first that fails ends the others.
Ensemble RunEnsemble(const Workload& workload, const Machine& machine, const EnsembleOptions& options);

}  // namespace lanescope::study
