// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <thread>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/base/thread.h"
#include "core/record/recorder.h"
#include "exec/measure/measure.h"

namespace lanescope::exec {
namespace {

// A thread that copies on demand and otherwise spins, so that it keeps a core of its own.
class OtherCore {
 public:
  OtherCore() : thread_("copies by another core", [this] { Loop(); }) {}
  ~OtherCore() {
    order_.store(kStop, std::memory_order_release);
    thread_.Wait();
  }
  void Copy(void* to, const void* from, size_t bytes) {
    to_ = to;
    from_ = from;
    bytes_ = bytes;
    order_.store(kCopy, std::memory_order_release);  // publishes the fields above
    while (order_.load(std::memory_order_acquire) != kIdle) __builtin_ia32_pause();
  }

 private:
  enum Order { kIdle, kCopy, kStop };
  void Loop() {
    for (;;) {
      const int order = order_.load(std::memory_order_acquire);
      if (order == kStop) return;
      if (order == kIdle) {
        __builtin_ia32_pause();
        continue;
      }
      std::memcpy(to_, from_, bytes_);
      order_.store(kIdle, std::memory_order_release);
    }
  }

  void* to_ = nullptr;
  const void* from_ = nullptr;
  size_t bytes_ = 0;
  std::atomic<int> order_{kIdle};
  Thread thread_;
};

int64_t TimeRead(const std::vector<uint64_t>& words, size_t bytes, uint64_t* sum) {
  const int64_t start = NowNs();
  for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) *sum += words[i];
  return NowNs() - start;
}

}  // namespace

std::vector<FetchTime> MeasureFetches(int repetitions, const std::atomic<bool>* cancelled) {
  if (std::thread::hardware_concurrency() < 2) return {};
  constexpr size_t kSmallest = 64 << 10, kLargest = 8 << 20;
  const std::vector<uint64_t> from(kLargest / sizeof(uint64_t), 1);
  std::vector<uint64_t> to(from.size());
  OtherCore other;
  uint64_t sum = 0;
  std::vector<FetchTime> times;
  for (size_t bytes = kSmallest; bytes <= kLargest; bytes *= 2) {
    std::vector<int64_t> own, fetched;
    for (int r = 0; r < repetitions; ++r) {
      if (cancelled != nullptr && cancelled->load()) Throw(Code::kCancelled, "interrupted");
      std::memcpy(to.data(), from.data(), bytes);
      own.push_back(TimeRead(to, bytes, &sum));
      other.Copy(to.data(), from.data(), bytes);
      fetched.push_back(TimeRead(to, bytes, &sum));
    }
    const int64_t extra = Median(std::move(fetched)) - Median(std::move(own));
    times.push_back({static_cast<int64_t>(bytes), std::max<int64_t>(0, extra)});
  }
  // The sum is used, or the compiler would leave the reading out.
  if (sum == 0) Throw(Code::kInternal, "the bytes read are not those written");
  return times;
}

}  // namespace lanescope::exec
