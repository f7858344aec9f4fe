// SPDX-License-Identifier: Apache-2.0
// Measurements of the devices and links of one task of a machine, by a process of a job for all.
// Internal to study.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/machine.h"
#include "exec/measure/gpu_machine.h"
#include "exec/measure/measure.h"
#include "exec/messages/transport.h"

namespace lanescope::study {

struct TaskMeasurement {
  int by = 0;  // rank of the process that measured, which may stand for others of its computer
  std::string computer;
  std::vector<DeviceId> devices;  // of the task, as numbers of the machine
  // Device i of the part is devices[i]; with the rates and tables that were filled in.
  Machine part;
  // In the part's numbers.
  std::optional<exec::HostMeasurement> host;
  exec::GpuMeasurement gpus;
  std::vector<exec::FetchTime> fetches;
};

// By task. `measure` gets this process' task with its part, and fills in the rest. All processes of the job
// call it with the same machine; throws FailedPrecondition where that has not a task for each.
std::vector<TaskMeasurement> MeasureTasks(const Machine& machine, exec::Transport* transport,
                                          const std::function<void(TaskMeasurement*)>& measure);

// Links as numbers of the machine.
std::vector<exec::LinkTime> InMachine(const TaskMeasurement& task, std::vector<exec::LinkTime> times);
// The numbers that were filled in, for the machine's own devices and links of the task.
void FillIn(const TaskMeasurement& task, Machine* machine);

}  // namespace lanescope::study
