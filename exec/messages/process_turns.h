// SPDX-License-Identifier: Apache-2.0
// Turns of a job's processes at its GPUs, for work that several processes do together.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "exec/messages/transport.h"

namespace lanescope::exec {

// Common work of GPUs of several processes (a transfer, an all-reduce) waits on each GPU for the others,
// and whatever is issued to a GPU may have to wait until such a thing has ended: NCCL says so of its kernels,
// and asks for one at a time. So one is issued only when nothing but issuing it elsewhere is missing, and
// each process takes part in one at a time: it has one turn to give.
// A meeting takes the turns of all its members in the order of their ranks. Who has given its turn waits for
// processes of higher ranks only, so no meetings wait for each other in a circle, whatever order they come
// in. The first member gathers that all are ready; from then on the turn of each is asked for by the one
// before it, and the last lets all go. What is not ready holds nobody's turn.
// Used by one thread. Meetings of the same members and tag are told apart by their order.
class ProcessTurns {
 public:
  using Ticket = uint64_t;  // none is 0

  explicit ProcessTurns(Transport* transport) : transport_(*transport) {}
  ~ProcessTurns() { Abandon(); }
  ProcessTurns(const ProcessTurns&) = delete;
  ProcessTurns& operator=(const ProcessTurns&) = delete;

  // This process is ready for a meeting of these ranks, ascending, of which it is one.
  Ticket Begin(std::vector<int> members, int tag);
  void Poll();
  // All members have their turns: each issues its part now.
  bool IsGranted(Ticket ticket) const;
  // Its part has ended.
  void End(Ticket ticket);
  // Forgets all.
  void Abandon();

 private:
  enum class Stage : uint8_t { kGathering, kReady, kAsked, kGranted };
  struct Meeting {
    Ticket ticket = 0;
    std::vector<int> members;
    size_t own = 0;  // this process among them
    int tag = 0;
    Stage stage = Stage::kGathering;
    std::vector<Transport::Ticket> awaited;  // what others have yet to say
  };

  void Hear(Meeting* meeting, int rank);
  void Tell(const Meeting& meeting, int rank);
  bool HasHeard(Meeting* meeting);
  void Take(Meeting* meeting);

  Transport& transport_;
  std::list<Meeting> meetings_;  // in the order in which this process was ready
  Ticket last_ = 0;
  bool is_taken_ = false;
};

}  // namespace lanescope::exec
