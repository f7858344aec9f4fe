// SPDX-License-Identifier: Apache-2.0
// The transfers between GPUs of two processes that are under way.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/device/peer_channel.h"
#include "exec/messages/process_turns.h"

namespace lanescope::exec {

// Each is issued when it is the turn of both processes. Used by one thread.
class PeerTransfers {
 public:
  using Ticket = ProcessTurns::Ticket;  // none is 0

  // `turns` must outlive it.
  explicit PeerTransfers(ProcessTurns* turns) : turns_(*turns) {}
  ~PeerTransfers() { Abandon(); }
  PeerTransfers(const PeerTransfers&) = delete;
  PeerTransfers& operator=(const PeerTransfers&) = delete;

  // This process, `own`, is ready for one with `peer`. `data` is memory of the channel's device and stays
  // until the ticket is done.
  Ticket Begin(PeerChannel* channel, bool is_send, int own, int peer, int tag, void* data, int64_t bytes);
  // Issues those whose turn it is, and appends those that are through. Throws what one failed with.
  void Poll(std::vector<Ticket>* done);
  // Whether one has been issued: only looking tells when it is through.
  bool IsAtWork() const;
  // Forgets all, before the turns do; one that has been issued takes its channel along.
  void Abandon();

 private:
  struct Transfer {
    Ticket ticket = 0;
    PeerChannel* channel = nullptr;
    bool is_send = false;
    void* data = nullptr;
    int64_t bytes = 0;
    bool is_issued = false;
  };

  static void Issue(Transfer* transfer);

  ProcessTurns& turns_;
  std::vector<Transfer> transfers_;
};

}  // namespace lanescope::exec
