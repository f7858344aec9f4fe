// SPDX-License-Identifier: Apache-2.0
// Which process of a job has which physical GPUs, where several of them run on one computer.
// Internal to study.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "exec/messages/transport.h"

namespace lanescope::study {

// Tells the GPU at this place of those that this process sees from all others of the job.
std::string OwnGpuId(int ordinal);

// By process, places in `seen[process]`, which are the ids of the GPUs that it sees. Those who see the same
// GPUs share them out, in their order: each as many as the others, or one more. Throws FailedPrecondition
// where there are fewer GPUs than processes that see them, and where two see some of the same only.
// `name`: of a process, for messages.
std::vector<std::vector<int>> ShareGpus(const std::vector<std::vector<std::string>>& seen,
                                        const std::function<std::string(int process)>& name);

// Throws FailedPrecondition where devices of two tasks are one physical GPU and not both of them parts of it.
// All processes of the job call it, each of which is a task.
void RequireOwnGpus(const Machine& machine, exec::Transport* transport);

}  // namespace lanescope::study
