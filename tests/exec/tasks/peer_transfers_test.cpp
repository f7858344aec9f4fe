// SPDX-License-Identifier: Apache-2.0
// Transfers between GPUs of several processes: which are issued when.
#include "exec/messages/peer_transfers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "core/base/error.h"
#include "tests/exec/session_harness.h"
#include "tests/support/memory_transport.h"

namespace lanescope::exec::test {
namespace {

using lanescope::test::MemoryTransport;
using lanescope::test::MessageBoard;

// A connection of two: a transfer is through once both ends have been issued and it has been asked for often
// enough. Notes which process is at work.
struct Connection {
  bool issued[2] = {};
  int looks[2] = {};
};

class CountingChannel : public PeerChannel {
 public:
  CountingChannel(Connection* connection, int end, int process, std::vector<int>* at_work)
      : connection_(*connection), end_(end), process_(process), at_work_(*at_work) {}

  bool IsJoined() override { return true; }
  void Send(const void*, int64_t) override { Issue(); }
  void Receive(void*, int64_t) override { Issue(); }
  bool IsThrough() override {
    if (!connection_.issued[0] || !connection_.issued[1] || ++connection_.looks[end_] < 3) return false;
    --At();
    return true;
  }
  void Abort() noexcept override { ++aborted; }

  int aborted = 0;

 private:
  int& At() { return at_work_[static_cast<size_t>(process_)]; }
  void Issue() {
    EXPECT_EQ(++At(), 1) << "process " << process_ << " has two at a time";
    connection_.issued[end_] = true;
  }

  Connection& connection_;
  const int end_, process_;
  std::vector<int>& at_work_;
};

struct Pair {
  int from, to;
  Connection connection;
  std::unique_ptr<CountingChannel> sends, receives;
};

// Some processes in one thread, and transfers among them.
class Job {
 public:
  explicit Job(int processes) : board_(processes), at_work_(static_cast<size_t>(processes), 0) {
    for (int rank = 0; rank < processes; ++rank) {
      transports_.push_back(std::make_unique<MemoryTransport>(&board_, rank));
      turns_.push_back(std::make_unique<ProcessTurns>(transports_.back().get()));
      transfers_.push_back(std::make_unique<PeerTransfers>(turns_.back().get()));
    }
  }
  Pair* Add(int from, int to) {
    Pair& pair = *pairs_.emplace_back(std::make_unique<Pair>());
    pair.from = from;
    pair.to = to;
    pair.sends = std::make_unique<CountingChannel>(&pair.connection, 0, from, &at_work_);
    pair.receives = std::make_unique<CountingChannel>(&pair.connection, 1, to, &at_work_);
    return &pair;
  }
  // The sender's end (0) or the receiver's.
  void Begin(Pair* pair, int end) {
    const auto number = std::ranges::find(pairs_, pair, &std::unique_ptr<Pair>::get) - pairs_.begin();
    const int own = end == 0 ? pair->from : pair->to, other = end == 0 ? pair->to : pair->from;
    PeerChannel* const channel = end == 0 ? pair->sends.get() : pair->receives.get();
    transfers(own).Begin(channel, end == 0, own, other, 100 + static_cast<int>(number), nullptr, 8);
  }
  // How many ends are through by now.
  int Poll(int rank) {
    std::vector<PeerTransfers::Ticket> done;
    turns_[static_cast<size_t>(rank)]->Poll();
    transfers(rank).Poll(&done);
    through_ += static_cast<int>(done.size());
    return through_;
  }

  PeerTransfers& transfers(int rank) { return *transfers_[static_cast<size_t>(rank)]; }

 private:
  MessageBoard board_;
  std::vector<int> at_work_;  // by process
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::vector<std::unique_ptr<MemoryTransport>> transports_;
  std::vector<std::unique_ptr<ProcessTurns>> turns_;
  std::vector<std::unique_ptr<PeerTransfers>> transfers_;
  int through_ = 0;
};

// Law: whatever order ends become ready in, and processes look in, all transfers get through, and no process
// has two at a time.
TEST(PeerTransfers, AllGetThroughInAnyOrder) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    const int processes = 2 + static_cast<int>(below(4));
    Job job(processes);
    std::vector<std::pair<Pair*, int>> ends;
    for (int i = 0; i < 30; ++i) {
      const int from = static_cast<int>(below(static_cast<size_t>(processes)));
      const int to = (from + 1 + static_cast<int>(below(static_cast<size_t>(processes - 1)))) % processes;
      Pair* const pair = job.Add(from, to);
      ends.emplace_back(pair, 0);
      ends.emplace_back(pair, 1);
    }
    std::shuffle(ends.begin(), ends.end(), random);
    int through = 0;
    for (int turn = 0; turn < 100000 && through < 60; ++turn) {
      if (!ends.empty() && below(3) == 0) {
        job.Begin(ends.back().first, ends.back().second);
        ends.pop_back();
      }
      through = job.Poll(static_cast<int>(below(static_cast<size_t>(processes))));
    }
    ASSERT_EQ(through, 60);
  }
}

void PollAll(Job* job, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (const int rank : {0, 1}) job->Poll(rank);
  }
}

// Law: nothing is issued, and no turn taken, for a transfer whose other end is not ready, on either side of
// it: another one passes it.
TEST(PeerTransfers, WhatIsNotReadyHoldsUpNothing) {
  for (const int waiting_end : {0, 1}) {
    Job job(2);
    Pair* const early = job.Add(0, 1);
    Pair* const late = job.Add(1, 0);
    job.Begin(early, waiting_end);
    job.Begin(late, 0);
    job.Begin(late, 1);
    PollAll(&job, 20);
    EXPECT_FALSE(early->connection.issued[0] || early->connection.issued[1]);
    EXPECT_EQ(job.Poll(0), 2);
    job.Begin(early, 1 - waiting_end);
    PollAll(&job, 20);
    EXPECT_EQ(job.Poll(0), 4);
  }
}

// A given-up transfer takes the channels along that have been issued, and no others.
TEST(PeerTransfers, OnlyWhatWasIssuedIsAborted) {
  Job job(2);
  Pair* const first = job.Add(0, 1);
  Pair* const second = job.Add(0, 1);
  for (Pair* pair : {first, second}) {
    job.Begin(pair, 0);
    job.Begin(pair, 1);
  }
  while (first->connection.issued[0] + second->connection.issued[0] == 0) PollAll(&job, 1);
  EXPECT_TRUE(job.transfers(0).IsAtWork());
  job.transfers(0).Abandon();
  EXPECT_FALSE(job.transfers(0).IsAtWork());
  EXPECT_EQ(first->sends->aborted, first->connection.issued[0] ? 1 : 0);
  EXPECT_EQ(second->sends->aborted, second->connection.issued[0] ? 1 : 0);
  EXPECT_EQ(first->sends->aborted + second->sends->aborted, 1);
}

}  // namespace
}  // namespace lanescope::exec::test
