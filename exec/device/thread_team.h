// SPDX-License-Identifier: Apache-2.0
// Worker threads of one host device.
#pragma once

#include <memory>

#include "exec/device/kernel.h"

namespace lanescope::exec {

// `workers` threads in all, the calling ones included; one worker needs no thread at all. Loops may run at
// the same time: each gets the helpers that are idle.
std::unique_ptr<WorkerTeam> MakeThreadTeam(int workers);

}  // namespace lanescope::exec
