// SPDX-License-Identifier: Apache-2.0
#include "study/job/rank_watch.h"

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/thread.h"
#include "exec/messages/message_tags.h"

namespace lanescope::study {
namespace {

constexpr std::chrono::milliseconds kBetweenSigns{250};

}  // namespace

class RankWatch::Impl {
 public:
  Impl(exec::Transport* transport, const std::vector<int>& peers, int64_t limit_ns,
       std::function<void(int rank)> silent)
      : transport_(*transport), limit_ns_(limit_ns), silent_(std::move(silent)) {
    for (const int rank : peers) peers_.push_back({rank});
    thread_ = Thread("the watch over other ranks", [this] { Run(); });
  }
  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    thread_.Wait();
  }

 private:
  struct Peer {
    int rank = 0;
    exec::Transport::Ticket sent = 0, received = 0;  // 0: none
    char out = 0, in = 0;
    int64_t seen_ns = 0;
  };

  void Run() {
    try {
      Watch();
    } catch (...) {
      // The main thread meets the same failure. What was begun is taken back all the same.
    }
    for (Peer& peer : peers_) {
      if (peer.sent != 0) transport_.Cancel(peer.sent);
      if (peer.received != 0) transport_.Cancel(peer.received);
    }
  }

  void Watch() {
    for (Peer& peer : peers_) peer.seen_ns = NowNs();
    int64_t looked_ns = NowNs();
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kBetweenSigns, [this] { return stop_; })) {
      // A process that was itself stopped has heard nothing meanwhile.
      const int64_t now = NowNs(), paused_ns = now - std::exchange(looked_ns, now);
      for (Peer& peer : peers_) {
        if (paused_ns > limit_ns_ / 2) peer.seen_ns += paused_ns;
        Exchange(&peer, now);
        if (now - peer.seen_ns > limit_ns_) silent_(peer.rank);
      }
      std::erase_if(peers_, [&](const Peer& peer) {
        if (now - peer.seen_ns <= limit_ns_) return false;
        transport_.Cancel(peer.sent);
        transport_.Cancel(peer.received);
        return true;
      });
    }
  }

  void Exchange(Peer* peer, int64_t now) {
    if (peer->sent == 0 || transport_.Test(peer->sent)) {
      peer->sent = transport_.Send(peer->rank, exec::kSignOfLifeTag, &peer->out, 1);
    }
    if (peer->received != 0 && transport_.Test(peer->received)) {
      peer->received = 0;
      peer->seen_ns = now;
    }
    if (peer->received == 0)
      peer->received = transport_.Receive(peer->rank, exec::kSignOfLifeTag, &peer->in, 1);
  }

  exec::Transport& transport_;
  const int64_t limit_ns_;
  const std::function<void(int rank)> silent_;
  std::list<Peer> peers_;  // what is sent and received lies in them
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  Thread thread_;
};

RankWatch::RankWatch(exec::Transport* transport, const std::vector<int>& peers, int64_t limit_ns,
                     std::function<void(int rank)> silent)
    : impl_(std::make_unique<Impl>(transport, peers, limit_ns, std::move(silent))) {}

RankWatch::~RankWatch() = default;

}  // namespace lanescope::study
