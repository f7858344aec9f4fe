// SPDX-License-Identifier: Apache-2.0
#include "exec/device/thread_team.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

#include "core/base/thread.h"

namespace lanescope::exec {
namespace {

class SingleWorker : public WorkerTeam {
 public:
  void ParallelFor(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& fn) override {
    grain = std::max<int64_t>(1, grain);
    for (int64_t begin = 0; begin < n; begin += grain) {
      CheckNotStopped();
      fn(begin, std::min(n, begin + grain));
    }
  }
};

// One ParallelFor, on its caller's stack. Blocks are handed out by `next`.
struct TeamLoop {
  const std::atomic<bool>* stopped = WorkerTeam::stopped();  // of the caller
  const std::function<void(int64_t, int64_t)>* fn = nullptr;
  int64_t n = 0;
  int64_t grain = 1;
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;

  void TakeBlocks() {
    try {
      for (;;) {
        const int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
        if (begin >= n) return;
        WorkerTeam::CheckNotStopped();
        (*fn)(begin, std::min(n, begin + grain));
      }
    } catch (...) {
      next.store(n, std::memory_order_relaxed);
      const std::lock_guard<std::mutex> lock(mutex);
      if (!error) error = std::current_exception();
    }
  }
};

// Invariants: a helper is either in idle_, or lent to the one loop whose caller has taken it out and puts it
// back; its phase is kLent from the moment that the caller hands it the loop until it has taken its last
// block, and the caller returns only then, so no helper touches a loop that is gone. busy_ counts the
// commands that run (Enter) and the helpers that are lent: at most as many as there are workers, but for
// commands that begin while a loop of another one has the helpers.
class ThreadTeam : public WorkerTeam {
 public:
  // Delegates, so that a start that fails runs the destructor, which joins the threads before it.
  explicit ThreadTeam(int workers) : ThreadTeam() {
    workers_ = workers;
    for (int i = 1; i < workers; ++i) {
      helpers_.push_back(std::make_unique<Helper>());
      Helper* helper = helpers_.back().get();
      idle_.push_back(helper);
      helper->thread = Thread(fmt::format("{} workers of a device", workers), [helper] { Help(helper); });
    }
  }
  ~ThreadTeam() override {
    for (auto& helper : helpers_) {
      if (!helper->thread.joinable()) continue;
      helper->phase.store(kStopped, std::memory_order_release);
      helper->phase.notify_one();
      helper->thread.Wait();
    }
  }

  void Enter() override { busy_.fetch_add(1, std::memory_order_relaxed); }
  void Leave() override { busy_.fetch_sub(1, std::memory_order_relaxed); }

  void ParallelFor(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& fn) override {
    grain = std::max<int64_t>(1, grain);
    if (n <= grain) {
      CheckNotStopped();
      if (n > 0) fn(0, n);
      return;
    }
    TeamLoop loop;
    loop.fn = &fn;
    loop.n = n;
    loop.grain = grain;
    Helper* const lent = Borrow((n + grain - 1) / grain - 1, &loop);
    loop.TakeBlocks();
    GiveBack(lent);
    if (loop.error) std::rethrow_exception(loop.error);
  }

 private:
  enum Phase : uint32_t { kIdle, kLent, kStopped };
  struct Helper {
    Thread thread;
    std::atomic<uint32_t> phase{kIdle};
    TeamLoop* loop = nullptr;
    Helper* next = nullptr;  // of those lent to the same loop
  };

  ThreadTeam() = default;

  // Waits until the phase is no longer `seen`, and returns it.
  static uint32_t WaitWhile(uint32_t seen, const std::atomic<uint32_t>& phase) {
    for (int spin = 0; spin < 2000; ++spin) {
      const uint32_t now = phase.load(std::memory_order_acquire);
      if (now != seen) return now;
      __builtin_ia32_pause();
    }
    phase.wait(seen, std::memory_order_acquire);
    return phase.load(std::memory_order_acquire);
  }

  static void Help(Helper* helper) {
    while (WaitWhile(kIdle, helper->phase) == kLent) {
      StopOn(helper->loop->stopped);
      helper->loop->TakeBlocks();
      helper->phase.store(kIdle, std::memory_order_release);
      helper->phase.notify_one();
    }
  }

  // Sets up to `wanted` idle helpers to work on the loop. The caller counts as busy, whether it has entered
  // or not.
  Helper* Borrow(int64_t wanted, TeamLoop* loop) {
    Helper* lent = nullptr;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const int busy = std::max(1, busy_.load(std::memory_order_relaxed));
      int64_t count = std::min<int64_t>(wanted, workers_ - busy);
      for (; count > 0 && !idle_.empty(); --count) {
        Helper* helper = idle_.back();
        idle_.pop_back();
        busy_.fetch_add(1, std::memory_order_relaxed);
        helper->next = std::exchange(lent, helper);
      }
    }
    for (Helper* helper = lent; helper != nullptr; helper = helper->next) {
      helper->loop = loop;
      helper->phase.store(kLent, std::memory_order_release);  // publishes the loop
      helper->phase.notify_one();
    }
    return lent;
  }

  void GiveBack(Helper* lent) {
    if (lent == nullptr) return;
    for (Helper* helper = lent; helper != nullptr; helper = helper->next) {
      while (WaitWhile(kLent, helper->phase) == kLent) {
      }
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Helper* helper = lent; helper != nullptr; helper = helper->next) {
      idle_.push_back(helper);
      busy_.fetch_sub(1, std::memory_order_relaxed);
    }
  }

  int workers_ = 1;
  std::vector<std::unique_ptr<Helper>> helpers_;
  std::atomic<int> busy_{0};
  std::mutex mutex_;
  std::vector<Helper*> idle_;
};

}  // namespace

std::unique_ptr<WorkerTeam> MakeThreadTeam(int workers) {
  if (workers <= 1) return std::make_unique<SingleWorker>();
  return std::make_unique<ThreadTeam>(workers);
}

}  // namespace lanescope::exec
