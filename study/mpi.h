// The processes that mpirun started this one with.
#pragma once

#include <string>

#include "core/base/ranks.h"

namespace lanescope::study {

// One rank, unless OpenMPI's mpirun (or srun with its plug-in) started the process: then its library is
// loaded, which takes a third of a second, and the ranks join. From the main thread alone; the same object
// every time. Throws FailedPrecondition where the library is missing or cannot start.
const Ranks& WorldRanks();

// "rank 1 of 4" in a process that mpirun started with others, whether it has joined them or not; else "".
std::string RankName();

}  // namespace lanescope::study
