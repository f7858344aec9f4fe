// SPDX-License-Identifier: Apache-2.0
// Letters of any length between processes of a job. Internal to exec.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "exec/messages/transport.h"

namespace lanescope::exec {

// One process's end. Letters of one sender come in the order in which they were sent. Thread-safe; the
// transport must outlive it.
class Mailbox {
 public:
  struct Letter {
    int from = 0;
    std::string text;
  };

  // Takes letters of these processes.
  Mailbox(Transport* transport, std::vector<int> peers);
  // Messages that are not on their way yet are never sent.
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Returns at once. Throws ResourceExhausted for more than a transport moves at once.
  void Send(int to, std::string text);
  // Never waits; moves what is on its way.
  std::optional<Letter> Poll();
  // Nothing comes from there or goes there any more.
  void Forget(int peer);
  // Whether all that was sent has arrived.
  bool AllSent();

 private:
  struct Outgoing {
    int to = 0;
    int64_t length = 0;
    std::string text;
    Transport::Ticket length_ticket = 0, text_ticket = 0;
  };
  struct Incoming {
    int from = 0;
    bool has_length = false;
    int64_t length = 0;
    std::string text;
    Transport::Ticket ticket = 0;
  };

  void AwaitLength(Incoming* incoming);
  void DropSent();
  bool Advance(Incoming* incoming);

  Transport& transport_;
  std::mutex mutex_;
  std::list<Outgoing> outgoing_;  // their memory stays where it is
  std::list<Incoming> incoming_;
};

}  // namespace lanescope::exec
