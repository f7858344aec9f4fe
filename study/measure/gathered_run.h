// SPDX-License-Identifier: Apache-2.0
// A run of one process of a job by itself, in the trace of the first of them. Internal to study.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/tensor.h"
#include "core/machine/machine.h"
#include "core/record/event.h"
#include "core/record/input_record.h"
#include "core/record/run_task.h"
#include "core/schedule/schedule.h"
#include "study/workload/placing.h"
#include "traces/record/trace_writer.h"

namespace lanescope::study {

// The recorded steps of such a run, as its process hands them in.
struct HandedInRun {
  int64_t begin_ns = 0, end_ns = 0;  // of the first step, of the last
  std::vector<int64_t> step_ns;
  std::vector<Tensor> fetches;  // of the last step
  bool oversubscribed = false;
  // Where there is a trace.
  std::vector<Event> events;
  InputRecord input;
};

std::string BytesOf(const HandedInRun& run);
// With times by the first process' clock, of which the other's is `ahead_ns` ahead. Throws DataLoss for what
// BytesOf has not made.
HandedInRun HandedInRunOf(std::string_view bytes, int64_t ahead_ns);

// Begins when the steps do, and gets them at the end. Workload, machine and writer must outlive it.
class GatheredRun {
 public:
  // `task`: of the machine, on whose devices alone the graph is placed. Throws what Compile throws.
  GatheredRun(PlacedGraph placed, const Machine& machine, int task, traces::TraceWriter* writer);
  GatheredRun(const GatheredRun&) = delete;
  GatheredRun& operator=(const GatheredRun&) = delete;

  int id() const { return id_; }
  // Throws DataLoss for events of other commands than the graph's.
  void Finish(const HandedInRun& run, std::vector<RunTask> tasks);
  // Its steps will not come, unless they have.
  void Fail(const std::string& error);

 private:
  const PlacedGraph placed_;
  const Schedule schedule_;
  traces::TraceWriter& writer_;
  const int id_;
  bool finished_ = false;
};

}  // namespace lanescope::study
