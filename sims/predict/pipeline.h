// SPDX-License-Identifier: Apache-2.0
// Steps that run at the same time and meet in queues, in virtual time: how fast a pipeline is, and what waits
// for what.
#pragma once

#include <cstdint>
#include <functional>
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
  int node = -1;  // of the graph, for records
};

struct StageLoad {
  int64_t ns = 0;
  double cores = 1;
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
  // The times of its steps one after the other, again and again: exclusive_ns, and what is left as work.
  // Threads begin at different ones. Empty: always exclusive_ns and work_ns.
  std::vector<int64_t> times = {};
  std::vector<QueueAccess> puts = {};
  double cores = 1;     // that its work keeps busy
  bool yields = false;  // it has the cores that others leave
  // Loads that change: cores one after the other, for so long each, from the step's begin on.
  std::vector<StageLoad> loads = {};
  int turn_node = -1;        // of the graph, for records: who has to have the turn
  std::string turn_of = {};  // "reader 'lines'"
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

// The waits of a predicted step: what came of its pipeline.
struct PipelinePrediction {
  Pipeline pipeline;
  PipelineResult result;
  int64_t alone_ns = 0;  // the step, if nobody shared its cores and it never waited
  CommandId take;        // the command that takes first
  // When it is to take, and when what comes after begins to, in the predicted step.
  int64_t take_from_ns = 0, take_until_ns = 0;
};

// Events since the step before ended, in ns since counting began.
struct PipelineRecord {
  // The first stage's: it asked for its elements, had them all, and ended.
  double begin = 0, asked = 0, had = 0, end = 0;
  struct Step {
    int thread = 0;  // by number of all threads, the first stage's left out
    int64_t step = 0;
    double begin = 0, end = 0;
  };
  struct Wait {
    int thread = -1;  // -1: the first stage's
    int64_t step = 0;
    int queue = -1;  // -1: its turn
    int node = -1;
    double begin = 0, end = 0;
  };
  struct Fill {
    int queue = 0;
    double time = 0;
    int64_t size = 0;
  };
  std::vector<Step> steps = {};
  std::vector<Wait> waits = {};
  std::vector<Fill> fills = {};
};

// Queues begin empty; what is counted begins once what they can hold has passed. Waiting attempts at one side
// of a queue are served in order, and take or put what they can; where more
// cores are wanted than there are, all share them alike, but for stages that yield: these share what is left.
// Throws InvalidArgument for a pipeline whose first stage does nothing in no time, and FailedPrecondition
// where all wait for each other (a batch that no queue can ever hold).
PipelineResult SimulatePipeline(const Pipeline& pipeline);

// Runs the pipeline, and records each of the first `steps` counted steps and the threads beside it; `consume`
// may throw. Threads are numbered stage by stage.
void RecordPipeline(const Pipeline& pipeline, int64_t steps,
                    const std::function<void(const PipelineRecord&)>& consume);

}  // namespace lanescope::sims
