// SPDX-License-Identifier: Apache-2.0
// How the processes of a job send tensors to each other. MPI is one (study/job/mpi.h), memory another
// (tests/support/memory_transport.h).
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lanescope::exec {

// One process's side. Messages of one sender, receiver and tag are received in the order in which they were
// sent; nothing else orders them. Start, Test and Cancel are called by one thread at a time, and not while
// another one shares.
class Transport {
 public:
  // A message that was started here; none is 0.
  using Ticket = uint64_t;

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Tags are 0 to this.
  virtual int most_tag() const { return INT_MAX; }
  // That a message carries; what is larger is several of one tag.
  virtual int64_t most_bytes() const { return INT64_MAX; }
  // "rank 1 (node7)", for messages to people.
  virtual std::string NameOf(int rank) const = 0;

  // Memory must stay until the ticket is done. A send is done once its receiver has begun to take it.
  virtual Ticket Send(int to, int tag, const void* data, int64_t bytes) = 0;
  virtual Ticket Receive(int from, int tag, void* data, int64_t bytes) = 0;
  // A few bytes, which are copied: for the sender it is done with that. Its receiver calls ReceivePosted, and
  // has no news of it.
  virtual void Post(int to, int tag, const void* data, int64_t bytes) = 0;
  virtual Ticket ReceivePosted(int from, int tag, void* data, int64_t bytes) = 0;
  // Never waits. A ticket that is done is forgotten.
  virtual bool Test(Ticket ticket) = 0;
  // Tests several at once: appends those that are done.
  virtual void TestSome(std::span<const Ticket> tickets, std::vector<Ticket>* done);
  // Forgets a message that is not done; its memory may go.
  virtual void Cancel(Ticket ticket) = 0;
  // Gives the texts of all processes, by rank, once all have called it. All call it equally often. Throws
  // Cancelled soon after `*cancelled`, if it is given.
  virtual std::vector<std::string> Share(const std::string& mine) = 0;

  // For who looks at tickets again and again, from any thread: how often something may have come in so far.
  virtual uint32_t News() const { return 0; }
  // Returns when something may have come in since News was `seen`, or at `until_ns` (of NowNs) at the latest.
  virtual void AwaitNews(uint32_t seen, int64_t until_ns);
  // Whether all processes are on this computer: NowNs is the same to all, and all that comes in is news. Else
  // only looking tells.
  virtual bool IsOneComputer() const { return false; }
  // Is news to that process, or to this one itself.
  virtual void Nudge(int rank) { static_cast<void>(rank); }

  // A step that all processes run was given up here: what was sent of it may still come in, and a later step
  // would take it for its own. From any thread.
  void GiveUp() { is_given_up_.store(true); }
  bool is_given_up() const { return is_given_up_.load(); }

 private:
  std::atomic<bool> is_given_up_{false};
};

}  // namespace lanescope::exec
