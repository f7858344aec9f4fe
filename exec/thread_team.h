// Worker threads of one host device.
#pragma once

#include <memory>

#include "exec/kernel.h"

namespace lanescope::exec {

// `workers` threads in all, the calling one included; one worker needs no thread at all. ParallelFor must not
// be called from two threads at once.
std::unique_ptr<WorkerTeam> MakeThreadTeam(int workers);

}  // namespace lanescope::exec
