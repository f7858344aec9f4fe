// A trace with something in it changed: how long its steps would take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/runs/run_profile.h"
#include "traces/read/trace_reader.h"
#include "traces/replay/replay_graph.h"

namespace lanescope::traces {

// On the way that made a mean step as long as it is; the parts add up to the step.
struct ReplayPath {
  int64_t kernels_ns = 0, collectives_ns = 0, copies_ns = 0, calls_ns = 0, host_ns = 0, waiting_ns = 0;
  int64_t step_ns() const {
    return kernels_ns + collectives_ns + copies_ns + calls_ns + host_ns + waiting_ns;
  }
};

struct WhatIf {
  struct Step {
    int number = 0;
    int64_t measured_ns = 0, replayed_ns = 0, predicted_ns = 0;
  };
  struct Change {
    std::string text;
    int64_t count = 0;  // of kernels, copies, calls or collectives that it concerns
  };
  // What is on the path of either, means over the steps.
  struct PathOp {
    std::string name;
    int64_t replayed_ns = 0, predicted_ns = 0;
  };
  ReplayFacts facts;
  int64_t threads = 0, streams = 0, gpus = 0;
  bool has_steps = false;
  std::vector<Step> steps;  // that count
  std::vector<Change> changes;
  ReplayPath replayed, predicted;
  std::vector<PathOp> ops;  // longest first

  // Means over the steps.
  double measured_ns() const { return Mean(&Step::measured_ns); }
  double replayed_ns() const { return Mean(&Step::replayed_ns); }
  double predicted_ns() const { return Mean(&Step::predicted_ns); }
  // Of the replay without changes.
  double error() const { return measured_ns() > 0 ? replayed_ns() / measured_ns() - 1 : 0; }

 private:
  double Mean(int64_t Step::*part) const;
};

// What FindWhatIf understands, for messages.
std::string WhatIfForms();

// Changes, each as it is given on the command line:
//   kernel:GLOB.speed=2      kernels of these names take half their time; GLOB has * and ?
//   GPU:1.speed=2            the same for all kernels of a GPU but NCCL's
//   link.speed=2             copies from and to elsewhere, and what NCCL's kernels transfer
//   host.speed=2             what threads do between calls
//   launch.overhead=0us      calls that launch something take this long
//   copy:GLOB=removed        copies of these names ("[CUDA memcpy HtoD]") take no time, nor do their calls
//   copy:GLOB=overlapped     nothing but synchronising calls waits for them
//   straggler=removed        no GPU is later at a collective than half of them are
//   ranks=16                 the job on so many GPUs of the same work each: its collectives last longer, by
//                            the rule of their algorithm
// Throws InvalidArgument for others, NotFound for what the trace does not have, and FailedPrecondition for
// what it does not say, with the reason; all that BuildReplayGraph throws.
WhatIf FindWhatIf(const ReplayGraph& graph, const std::vector<std::string>& changes);

// The mean steps of both replays, for DiffRuns: without the changes and with them. `step`: of the step of
// this number alone; throws NotFound where a replay does not have it.
struct WhatIfProfiles {
  RunProfile before, after;
};
WhatIfProfiles ProfileWhatIf(const ReplayGraph& graph, const std::vector<std::string>& changes,
                             int step = -1);

// Of a run of a trace: a capture, or another tool's. Throws FailedPrecondition for a run of a graph of ours,
// which `simulate GRAPH` predicts.
ReplayGraph ReadReplayGraph(TraceReader& reader, int run);

}  // namespace lanescope::traces
