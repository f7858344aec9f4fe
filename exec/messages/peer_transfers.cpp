// SPDX-License-Identifier: Apache-2.0
#include "exec/messages/peer_transfers.h"

#include <algorithm>

namespace lanescope::exec {

PeerTransfers::Ticket PeerTransfers::Begin(PeerChannel* channel, bool is_send, int own, int peer, int tag,
                                           void* data, int64_t bytes) {
  const Ticket ticket = turns_.Begin({std::min(own, peer), std::max(own, peer)}, tag);
  transfers_.push_back({ticket, channel, is_send, data, bytes});
  return ticket;
}

void PeerTransfers::Issue(Transfer* transfer) {
  transfer->is_issued = true;  // in part, should it fail
  if (transfer->is_send) {
    transfer->channel->Send(transfer->data, transfer->bytes);
  } else {
    transfer->channel->Receive(transfer->data, transfer->bytes);
  }
}

void PeerTransfers::Poll(std::vector<Ticket>* done) {
  for (Transfer& transfer : transfers_) {
    if (!transfer.is_issued && turns_.IsGranted(transfer.ticket)) Issue(&transfer);
  }
  std::erase_if(transfers_, [&](const Transfer& transfer) {
    if (!transfer.is_issued || !transfer.channel->IsThrough()) return false;
    turns_.End(transfer.ticket);
    done->push_back(transfer.ticket);
    return true;
  });
}

bool PeerTransfers::IsAtWork() const {
  return std::ranges::any_of(transfers_, [](const Transfer& transfer) { return transfer.is_issued; });
}

void PeerTransfers::Abandon() {
  for (const Transfer& transfer : transfers_) {
    if (transfer.is_issued) transfer.channel->Abort();
  }
  transfers_.clear();
}

}  // namespace lanescope::exec
