// SPDX-License-Identifier: Apache-2.0
// Whether the GPUs of a job's processes send to each other from memory to memory.
#pragma once

#include <string>

#include "core/machine/machine.h"
#include "exec/messages/transport.h"

namespace lanescope::exec {

struct JoinedGpus {
  // As WithJoinedGpus gives it.
  Machine machine;
  // In one line which way copies between them go, and why; empty where no two tasks have GPUs of hardware.
  std::string note;
};

// The machine as the processes of the transport can use it, each of which plays the task of its rank: two
// GPUs are joined where both processes have the same library for it (NCCL) and they are not one GPU. All
// call it, with the same machine. What is compiled for that machine runs in sessions whose
// JobOptions::joins_gpus says so; of no others, nor without a transport, are any joined.
JoinedGpus JoinGpus(const Machine& machine, Transport* transport);

}  // namespace lanescope::exec
