// SPDX-License-Identifier: Apache-2.0
// An ensemble: as many copies of one network as the machine has GPUs, each on a GPU of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/graph/tensor.h"
#include "core/machine/machine.h"
#include "core/place/wire_format.h"
#include "study/base/cancellation.h"
#include "study/base/notes.h"
#include "study/job/job.h"
#include "study/measure/run_settings.h"
#include "study/workload/workload.h"
#include "traces/record/trace_writer.h"

namespace lanescope::study {

// That one process runs.
inline constexpr int kMaxReplicas = Cancellation::kMaxRunning;

struct EnsembleOptions {
  RunRequest run;
  // One graph that holds all networks, one session: a step is one of each. Otherwise every network is a
  // session of its own and waits for no other.
  bool in_graph = false;
  WireFormat wire = WireFormat::kFloat32;  // of one graph's tensors between tasks
  // Not null: the processes that run it, each the networks on the GPUs of its task or its part of the graph.
  // All call RunEnsemble; `settings`: what else they must have been told alike.
  Job* job = nullptr;
  std::string settings;
  traces::TraceWriter* writer = nullptr;  // of the first process; may be null: nothing is written
  Cancellation* cancellation = nullptr;
  Notes note = nullptr;  // from one thread at a time
  // Called with the number of recorded steps that all networks of this process together have run, from one
  // thread at a time.
  std::function<void(int64_t)> on_step = nullptr;
  // Called with what a recorded step fetched of a network; the steps that warm up count. Where each is a
  // session, by its process, from a thread for each network; else by the first process.
  std::function<void(size_t replica, int64_t step, const std::vector<Tensor>&)> on_fetches = nullptr;
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

// Devices of the networks, in their order: the GPUs of the machine, or without any its host.
std::vector<DeviceId> DevicesOfReplicas(const Machine& machine);
// Replicas whose fetches this process of the job has: where each is a session, those that it runs; in one
// graph the first process has all.
std::vector<size_t> FetchedReplicas(const Machine& machine, const Job& job, bool in_graph);

// Every network is placed by `single`, but on its GPU, and what that cannot run is on the host of its task.
// The seed of network r is the run's (0 where there is none) and r, whichever process runs it. Warmed up, all
// begin together. Of a job the first process gets what all did; the others an empty one. What other processes
// record as sessions stays with them until their steps are done; then the trace has it. Throws
// InvalidArgument for more GPUs of a process than kMaxReplicas, what Job::RequireSame throws, and what the
// steps throw; the first that fails ends the others.
Ensemble RunEnsemble(const Workload& workload, const Machine& machine, const EnsembleOptions& options);

}  // namespace lanescope::study
