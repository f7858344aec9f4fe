// SPDX-License-Identifier: Apache-2.0
// Steps of a graph that is made to measure something and is none that anybody compares, run again and again
// between others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/inputs/run_spec.h"
#include "core/machine/machine.h"
#include "core/place/placement.h"
#include "core/record/event.h"
#include "core/schedule/schedule.h"
#include "study/base/cancellation.h"
#include "study/job/job.h"

namespace lanescope::study {

class RecordedRun;
class Workload;

// A chain of commands as it grows: its graph with the device of every node, and what a step feeds.
struct Chain {
  GraphBuilder builder;
  Placement placement;
  RunSpec step;

  // The node, on that device.
  Endpoint On(Endpoint node, DeviceId device);
  // A tensor that a step feeds, of zeros.
  Endpoint Feed(const std::string& name, int64_t elements, DeviceId device);
};

// Recorded steps; without a schedule where nothing was measured.
struct ChainRun {
  std::shared_ptr<const Schedule> schedule;
  std::vector<Event> events;
  std::vector<int64_t> messaging_ns;  // by step: of processors, that its messages took
};

// All nodes of the chain run. Not thread-safe; machine and job must outlive it.
class RecordedChain {
 public:
  // `job`: null, or of the processes that run it together, which all make the same calls.
  RecordedChain(const std::string& name, Chain chain, const Machine& machine, Job* job,
                Cancellation* cancellation);
  ~RecordedChain();

  // Four steps that are recorded, after one that is not. Throws Cancelled.
  void Run();
  // All steps; of a job the first process has their events.
  ChainRun Finish();

 private:
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<RecordedRun> run_;
};

}  // namespace lanescope::study
