// SPDX-License-Identifier: Apache-2.0
#include "exec/measure/core_speeds.h"

#include <pthread.h>
#include <sched.h>

#include <limits>
#include <numeric>
#include <utility>

#include "core/base/clock.h"
#include "core/base/processors.h"
#include "core/base/statistics.h"
#include "exec/kernels/product.h"

namespace lanescope::exec {
namespace {

constexpr int kProducts = 15;
constexpr int64_t kSide = 64;  // 48 KiB of matrices, in the nearest caches

void StayOn(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(core), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

}  // namespace

CoreSpeeds::CoreSpeeds(std::vector<int> cores)
    : cores_(std::move(cores)), ns_(cores_.size()), failures_(cores_.size()) {}

// Delegates, so that a start that fails runs the destructor, which ends the threads before it.
CoreSpeeds::CoreSpeeds() : CoreSpeeds(CoresOfThisProcess()) {
  for (size_t core = 0; core < cores_.size(); ++core)
    threads_.emplace_back("the speed of a core", [this, core] { Run(core); });
}

CoreSpeeds::~CoreSpeeds() {
  asked_.store(std::numeric_limits<int>::min(), std::memory_order_release);
  asked_.notify_all();
  for (Thread& thread : threads_) thread.Wait();
}

int64_t CoreSpeeds::Take() {
  if (threads_.empty()) return 0;
  working_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
  asked_.fetch_add(1, std::memory_order_release);
  asked_.notify_all();
  for (int left = working_.load(std::memory_order_acquire); left > 0;
       left = working_.load(std::memory_order_acquire))
    working_.wait(left, std::memory_order_acquire);
  for (std::exception_ptr& failure : failures_) {
    if (failure != nullptr) std::rethrow_exception(std::exchange(failure, nullptr));
  }
  const auto sum = std::accumulate(ns_.begin(), ns_.end(), int64_t{0});
  return 1000 * sum / static_cast<int64_t>(ns_.size());
}

void CoreSpeeds::Run(size_t core) {
  StayOn(cores_[core]);
  for (int seen = 0;;) {
    asked_.wait(seen, std::memory_order_acquire);
    seen = asked_.load(std::memory_order_acquire);
    if (seen < 0) return;
    try {
      MeasureProducts(core);
    } catch (...) {
      failures_[core] = std::current_exception();  // whoever asked waits for all
    }
    if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) working_.notify_one();
  }
}

void CoreSpeeds::MeasureProducts(size_t core) {
  const std::vector<float> a(kSide * kSide, 0.5f), b(kSide * kSide, 0.25f);
  std::vector<float> c(kSide * kSide);
  std::vector<int64_t> samples;
  for (int i = 0; i < kProducts; ++i) {
    const int64_t start = NowNs();
    Multiply<float>(nullptr, kSide, kSide, kSide, {a.data(), kSide, false}, {b.data(), kSide, false},
                    c.data());
    samples.push_back(NowNs() - start);
  }
  ns_[core] = Median(std::move(samples));
}

}  // namespace lanescope::exec
