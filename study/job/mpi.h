// SPDX-License-Identifier: Apache-2.0
// The processes that mpirun or srun started this one with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/ranks.h"
#include "exec/messages/transport.h"

namespace lanescope::study {

// One rank, unless OpenMPI's mpirun (or srun with its plug-in) started the process with others: then its
// library is loaded, which takes a third of a second, and the ranks join. From the main thread alone; the
// same object every time. Throws FailedPrecondition where the library is missing or cannot start, or finds
// others than were started, or programs of another protocol. From then on a rank that does not answer for ten
// seconds ends them all.
const Ranks& WorldRanks();

// The transport of tensors between those ranks; null where there is one. Lives as long as the process.
exec::Transport* WorldTransport();

// From its making on the ranks end by themselves: an error of one does not end the others, and one that does
// not answer for ten seconds is told to its peers. All ranks make one, at the same point of what they do
// together; once a process.
class SeparateRanks {
 public:
  // A peer has this process as a peer too. `lost` is called from another thread while this lives.
  SeparateRanks(const std::vector<int>& peers, std::function<void(int rank)> lost);
  ~SeparateRanks();
  SeparateRanks(const SeparateRanks&) = delete;
  SeparateRanks& operator=(const SeparateRanks&) = delete;
};

// "rank 1 of 4 on node7" in a process that was started with others, whether it has joined them or not;
// else "".
std::string RankName();

// The command line of this process, for messages.
std::string OwnCommand();

}  // namespace lanescope::study
