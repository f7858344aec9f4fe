// The mean step of a run, op by op: how long each took, and how much of that the step waited for. What diff
// and explain compare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/step_path.h"
#include "traces/trace_reader.h"

namespace lanescope {

// The k-th time in a step that an op runs; means over the steps in which it did (ns).
struct OpInstance {
  int64_t seen = 0;      // steps in which it ran
  double ns = 0;         // its length
  double path_ns = 0;    // the part of it on the step's path
  double shared_ns = 0;  // the part beside other work that competes for the same thing
  double wait_ns = 0;    // waiting on the path right before it
  int device = 0;        // of a copy: that executed it
  int signature = -1;    // number of a text of the run
  int range = -1;        // text of its innermost NVTX range
};

struct OpProfile {
  WorkKind kind = WorkKind::kLaunch;
  std::string name;  // node or kernel; of a copy "NODE GPU:0 -> GPU:1" or "[CUDA memcpy HtoD]"
  std::vector<OpInstance> instances;
};

struct RunProfile {
  TraceRunInfo info;
  bool by_node = false;  // names are nodes of a graph; else kernels, whose instances count by device
  int64_t steps = 0;     // that the means are taken over
  int64_t all_steps = 0;
  double step_ns = 0;
  double end_wait_ns = 0;  // waiting on the path after the last op
  std::vector<OpProfile> ops;
  std::vector<std::string> texts;  // of the run
  std::vector<TraceDevice> devices;
};

// Means are taken over the middle half of the steps by length, so that a few outliers do not decide. `step`:
// over this step alone. A launch competes with what runs on its device, a copy with other copies; on emulated
// devices, which share the host's processors, everything competes with everything. Throws NotFound for a step
// that is not there, FailedPrecondition for a run without activities.
RunProfile ProfileRun(const TraceRun& run, int step = -1);

}  // namespace lanescope
