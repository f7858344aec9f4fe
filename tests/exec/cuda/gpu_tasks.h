// SPDX-License-Identifier: Apache-2.0
// Jobs of threads whose tasks have GPUs of the stub.
#pragma once

#include <vector>

#include "tests/exec/cuda/fake_nccl_use.h"
#include "tests/exec/cuda/stub_harness.h"
#include "tests/exec/tasks/tasks_harness.h"

namespace lanescope::exec::test {

// As MachineOfTasks, but its GPUs are the stub's, one behind the other.
inline Machine GpuMachineOfTasks(int tasks, int gpus) {
  Machine machine = MachineOfTasks(tasks, gpus, 1e9, 1000);
  int physical = 0;
  for (DeviceSpec& device : machine.devices) {
    if (!device.is_gpu()) continue;
    device.kind = DeviceKind::kCuda;
    device.physical = physical++;
    device.in_order = true;
    device.memory_bytes = int64_t{512} << 20;
  }
  return machine;
}

// Steps that do not end are an error after a while.
inline SessionOptions InJob(Transport* transport, bool graphs = true) {
  SessionOptions options;
  options.job.transport = transport;
  options.job.joins_gpus = true;
  options.timeout_ns = 20'000'000'000;
  options.devices.graphs = graphs;
  return options;
}

}  // namespace lanescope::exec::test
