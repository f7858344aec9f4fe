#include "exec/thread_team.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/thread.h"

namespace lanescope::exec {
namespace {

class SingleWorker : public WorkerTeam {
 public:
  void ParallelFor(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& fn) override {
    grain = std::max<int64_t>(1, grain);
    for (int64_t begin = 0; begin < n; begin += grain) fn(begin, std::min(n, begin + grain));
  }
};

// Invariants: `generation_` changes once per loop, after the loop's fields are set; a helper takes part in a
// loop only between seeing the new generation and its decrement of `active_`; the caller returns when
// `active_` is zero, so no helper touches the loop's fields afterwards. Blocks are handed out by `next_`.
class ThreadTeam : public WorkerTeam {
 public:
  // Delegates, so that a start that fails runs the destructor, which joins the threads before it.
  explicit ThreadTeam(int workers) : ThreadTeam() {
    threads_.reserve(static_cast<size_t>(workers));
    for (int i = 1; i < workers; ++i) {
      threads_.push_back(StartThread(fmt::format("{} workers of a device", workers), [this] { Help(); }));
    }
  }
  ~ThreadTeam() override {
    stop_.store(true, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void ParallelFor(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& fn) override {
    grain = std::max<int64_t>(1, grain);
    if (n <= grain) {
      if (n > 0) fn(0, n);
      return;
    }
    fn_ = &fn;
    n_ = n;
    grain_ = grain;
    next_.store(0, std::memory_order_relaxed);
    active_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);  // publishes the fields above
    generation_.notify_all();
    TakeBlocks();
    for (int left; (left = active_.load(std::memory_order_acquire)) != 0;) WaitFor(active_, left);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  ThreadTeam() = default;

  template <typename T>
  static void WaitFor(std::atomic<T>& value, T seen) {
    for (int spin = 0; spin < 2000; ++spin) {
      if (value.load(std::memory_order_acquire) != seen) return;
      __builtin_ia32_pause();
    }
    value.wait(seen, std::memory_order_acquire);
  }

  void TakeBlocks() {
    try {
      for (;;) {
        const int64_t begin = next_.fetch_add(grain_, std::memory_order_relaxed);
        if (begin >= n_) return;
        (*fn_)(begin, std::min(n_, begin + grain_));
      }
    } catch (...) {
      next_.store(n_, std::memory_order_relaxed);
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  void Help() {
    uint32_t seen = 0;
    for (;;) {
      while (generation_.load(std::memory_order_acquire) == seen) WaitFor(generation_, seen);
      ++seen;
      if (stop_.load(std::memory_order_relaxed)) return;
      TakeBlocks();
      if (active_.fetch_sub(1, std::memory_order_acq_rel) == 1) active_.notify_one();
    }
  }

  std::vector<std::thread> threads_;
  const std::function<void(int64_t, int64_t)>* fn_ = nullptr;
  int64_t n_ = 0;
  int64_t grain_ = 1;
  std::atomic<int64_t> next_{0};
  std::atomic<int> active_{0};
  std::atomic<uint32_t> generation_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

std::unique_ptr<WorkerTeam> MakeThreadTeam(int workers) {
  if (workers <= 1) return std::make_unique<SingleWorker>();
  return std::make_unique<ThreadTeam>(workers);
}

}  // namespace lanescope::exec
