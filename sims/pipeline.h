// Steps that run at the same time and meet in queues, in virtual time: how fast a pipeline is, and what waits
// for what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/schedule/schedule.h"

namespace lanescope::sims {

struct PipelineQueue {
  std::string name;
  int64_t capacity = -1;  // elements; -1: as many as come
  int64_t kept = 0;       // that it gives away only once it is closed
};

// Elements that a step takes from a queue or puts into it.
struct QueueAccess {
  int queue = 0;  // index into Pipeline::queues
  int64_t elements = 1;
};

// A step that threads run again and again: it works, takes elements, works with one thread at a time, works
// on, and puts elements. A processor has one core's worth of it at most, unless `cores` says more.
struct PipelineStage {
  std::string name;
  int threads = 1;
  int64_t before_ns = 0;  // before it takes
  std::vector<QueueAccess> takes = {};
  int64_t exclusive_ns = 0;  // only one of its threads at a time
  int64_t work_ns = 0;       // after that, before it puts
  std::vector<QueueAccess> puts = {};
  double cores = 1;  // that its work keeps busy
};

// The stage whose steps are counted is the first one; it has one thread.
struct Pipeline {
  std::vector<PipelineQueue> queues;
  std::vector<PipelineStage> stages;
  int cores = 0;  // that all work shares; 0: enough for all
};

struct PipelineResult {
  double step_ns = 0;  // of the first stage, from begin to begin
  double wait_ns = 0;  // of it: for elements or room
  struct Queue {
    double mean_fill = 0;
    double starved = 0,
           full = 0;  // shares of the time: the first stage waits for elements, a thread for room
  };
  std::vector<Queue> queues;
  struct Stage {
    double steps_per_second = 0;
    double work_ns = 0;                         // a step, as long as it took beside the others
    double waiting = 0, turn = 0, blocked = 0;  // shares of a thread's time: elements, its turn, room
  };
  std::vector<Stage> stages;
};

// What a predicted step waits for: what came of its pipeline.
struct PipelinePrediction {
  Pipeline pipeline;
  PipelineResult result;
  int64_t alone_ns = 0;  // the step, if it never waited, as it is beside the threads of the calibrated run
  CommandId take;        // the command that takes first
  int64_t waits_from_ns = 0, wait_ns = 0;
};

// Queues begin empty; what is counted begins once what they can hold has passed. Waiting attempts at one side
// of a queue are served in order, and take or put what they can; work is slowed down alike where it wants
// more cores than there are. Throws InvalidArgument for a pipeline whose first stage does nothing in no time,
// and FailedPrecondition where all wait for each other (a batch that no queue can ever hold).
PipelineResult SimulatePipeline(const Pipeline& pipeline);

}  // namespace lanescope::sims
