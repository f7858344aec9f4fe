// SPDX-License-Identifier: Apache-2.0
// The mean step of a run, op by op: how long each took, and how much of that the step waited for. What diff,
// explain, compare and the timeline show.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "core/runs/op_instances.h"
#include "core/runs/run_view.h"
#include "core/runs/step_path.h"
#include "core/runs/step_range.h"

namespace lanescope {

struct OpProfile {
  WorkKind kind = WorkKind::kLaunch;
  std::string name;  // node or kernel; of a copy "NODE GPU:0 -> GPU:1" or "[CUDA memcpy HtoD] host -> GPU:0"
  std::string op;    // the same without the ends of a copy
  // The name in every run of the same work. Ranks of a job see other devices: the ends of their
  // copies count by their place among the run's devices.
  std::string match;
  OpInstances instances;
  // On the path of a mean step, and waiting before it, but launched in another step (WorkItem::carried).
  double carried_path_ns = 0, carried_wait_ns = 0;
};

// Value type: it outlives the run.
struct RunProfile {
  bool by_node = false;  // names are nodes of a graph; else kernels, whose instances count by device
  int64_t steps = 0;     // that the means are taken over
  int64_t all_steps = 0;
  bool whole = false;  // nobody recorded steps: the only one is the whole run
  double step_ns = 0;
  StepRange range;         // of all steps that count; of one step and of a whole run it is not known
  double end_wait_ns = 0;  // waiting on the path after the last op
  std::vector<OpProfile> ops;
  std::vector<std::string> texts;
  std::vector<RunView::Device> devices;
};

// Launches and copies on the path of the mean step, and the waiting between them: what `compare` calls the
// critical path is launch_ns + transfer_ns.
struct PathSums {
  double launch_ns = 0, transfer_ns = 0, waiting_ns = 0;
};
PathSums PathSumsOf(const RunProfile& profile);

// The usual length of the steps that count; unknown for none. Steps of a graph repeat, and their median tells
// how long one takes. Where no graph is known (`repeat` false), as in other tools' traces, steps are as
// different as they like and follow each other without gaps: there it is the mean of their middle half, which
// is also what ProfileRun says.
StepRange MeasuredStep(std::vector<int64_t> lengths, bool repeat);

// Means are taken over the middle half, by length, of the steps that count, so that a few outliers do not
// decide. `step`: over the step of this number alone. A launch and a copy within its
// device compete with what runs there, another copy with other copies; on emulated devices, which share the
// host's processors, everything competes with everything. Throws NotFound for a step that is not there,
// FailedPrecondition for a run without activities, ResourceExhausted for a step of more than `max_items`
// pieces of work, Cancelled soon after `*cancelled` (may be null) is set.
RunProfile ProfileRun(const RunView& view, int step = -1, const std::atomic<bool>* cancelled = nullptr,
                      size_t max_items = SIZE_MAX);

}  // namespace lanescope
