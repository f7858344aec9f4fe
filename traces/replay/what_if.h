// SPDX-License-Identifier: Apache-2.0
// A trace with something in it changed: how long its steps would take.
#pragma once

#include <cstdint>
#include <optional>
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
  // An op on the path of either, means over the steps.
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
  // The range of changes by ratios that spread: the mean predicted step where all of them are what 5% and 95%
  // of those measured are under.
  struct Range {
    int64_t low_ns = 0, high_ns = 0;
  };
  std::optional<Range> range;

  // Means over the steps.
  double measured_ns() const { return Mean(&Step::measured_ns); }
  double replayed_ns() const { return Mean(&Step::replayed_ns); }
  double predicted_ns() const { return Mean(&Step::predicted_ns); }
  // The error of the replay without changes.
  double error() const { return measured_ns() > 0 ? replayed_ns() / measured_ns() - 1 : 0; }

 private:
  double Mean(int64_t Step::*part) const;
};

// Lists the forms that FindWhatIf understands, for messages.
std::string WhatIfForms();

// Changes, each as it is given on the command line:
//   kernel:GLOB.speed=2      kernels of these names take half their time; GLOB has * and ?
//   GPU:1.speed=2            the same for all kernels of a GPU but NCCL's
//   link.speed=2             copies from and to elsewhere, and what NCCL's kernels transfer
//   host.speed=2             what threads do between calls
//   launch.overhead=0us      calls that launch something take this long
//   copy:GLOB=removed        copies of these names ("[CUDA memcpy HtoD]") take no time, nor do their calls
//   copy:GLOB=overlapped     nothing but synchronising calls waits for them
//   graph=captured           what a process launches in a step and between two of its waits is one CUDA graph
//   graph=none               nodes of graphs are launched one by one
//   overlap=AllReduce        nothing but synchronising calls waits for such collectives (a kind, or a GLOB)
//   range:GLOB.stream=9      what was launched in ranges of these names runs on this stream, behind what came
//                            before it on its own; nothing of that stream waits for it
//   gpu=h200                 kernels take as long as such ones do on that GPU, by measured ratios that spread
//   link.bandwidth=50GB/s    what links between GPUs carry; host_link.bandwidth: those to the host
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

// Reads a run of a capture, or of another tool's trace. Throws FailedPrecondition for a run of a graph of
// ours, which `simulate GRAPH` predicts.
ReplayGraph ReadReplayGraph(TraceReader& reader, int run);

}  // namespace lanescope::traces
