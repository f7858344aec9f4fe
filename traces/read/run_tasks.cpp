// SPDX-License-Identifier: Apache-2.0
#include "traces/read/run_tasks.h"

#include <algorithm>
#include <unordered_map>

#include "core/machine/tasks.h"
#include "traces/store/lanescope_tables.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

// Empty for a device that is of no task.
std::string TaskNameOf(const TraceDevice& device) {
  DeviceName name;
  return ParseDeviceName(device.name, &name) && name.has_job ? NameOfTask(name) : "";
}

}  // namespace

void NumberTasks(std::vector<TraceDevice>* devices) {
  std::vector<TraceDevice*> ordered;
  for (TraceDevice& device : *devices) ordered.push_back(&device);
  std::ranges::stable_sort(ordered, {}, &TraceDevice::in_machine);
  std::unordered_map<std::string, int> numbers;
  for (TraceDevice* device : ordered)
    device->task = numbers.try_emplace(TaskNameOf(*device), static_cast<int>(numbers.size())).first->second;
  if (numbers.size() > 1) return;
  for (TraceDevice& device : *devices) device.task = -1;
}

std::vector<RunTask> ReadTasks(Database& database, int run, const std::vector<TraceDevice>& devices) {
  std::vector<RunTask> tasks;
  for (const TraceDevice& device : devices) {
    if (device.task < 0) continue;
    tasks.resize(std::max(tasks.size(), static_cast<size_t>(device.task) + 1));
    tasks[static_cast<size_t>(device.task)].name = TaskNameOf(device);
  }
  using tables::kTask;
  ReadRunRows(database, kTask, run, {kTask.name, kTask.process, kTask.clock_ahead, kTask.clock_uncertainty},
              [&](const auto& row) {
                const auto task = std::ranges::find(tasks, row[kTask.name], &RunTask::name);
                if (task == tasks.end()) return;
                task->process = row[kTask.process];
                task->clock_ahead_ns = row[kTask.clock_ahead].value_or(0);
                task->clock_uncertainty_ns = row[kTask.clock_uncertainty];
              });
  return tasks;
}

}  // namespace lanescope::traces
