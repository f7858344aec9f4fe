// The processes that mpirun started this one with.
#pragma once

#include <string>

#include "core/base/ranks.h"
#include "exec/transport.h"

namespace lanescope::study {

// One rank, unless OpenMPI's mpirun (or srun with its plug-in) started the process: then its library is
// loaded, which takes a third of a second, and the ranks join. From the main thread alone; the same object
// every time. Throws FailedPrecondition where the library is missing or cannot start. From then on a rank
// that does not answer for ten seconds ends them all.
const Ranks& WorldRanks();

// The same ranks as they send each other tensors; null where there is one. Lives as long as the process.
exec::Transport* WorldTransport();

// "rank 1 of 4 on node7" in a process that mpirun started with others, whether it has joined them or not;
// else "".
std::string RankName();

}  // namespace lanescope::study
