// SPDX-License-Identifier: Apache-2.0
// The NVTX ranges of a program.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/record/activity_rows.h"

namespace lanescope::profiler {

// Ranges are kept with the thread that pushed them and taken away by a flushing thread. A push and a pop cost
// two readings of the clock and an uncontended lock. Thread-safe. Never throws: without memory, ranges are
// counted as lost.
class NvtxRecorder {
 public:
  NvtxRecorder() = default;
  NvtxRecorder(const NvtxRecorder&) = delete;
  NvtxRecorder& operator=(const NvtxRecorder&) = delete;

  struct Attributes {
    std::string_view text;
    uint32_t category = 0, color = 0;
    bool has_color = false;
  };

  // The depth of the range, from 0; as NVTX has it.
  int Push(uint32_t domain, const Attributes& attributes);
  // The depth of the range that ends; -1: there is none.
  int Pop(uint32_t domain);
  uint64_t Start(uint32_t domain, const Attributes& attributes);
  void End(uint64_t range);
  void Mark(uint32_t domain, const Attributes& attributes);
  // The number of a domain, from 1.
  uint32_t CreateDomain(std::string_view name);
  void NameThread(uint32_t thread, std::string_view name);

  // While off, new ranges are not kept; those that are open still end.
  void SetRecording(bool on) { recording_.store(on, std::memory_order_relaxed); }
  // `changed(true)` when a range with this text begins, `changed(false)` when the last one ends.
  void Watch(std::string text, std::function<void(bool)> changed);

  // Appends what has ended since the last call; at the end, what is still open too.
  void Take(traces::ActivityBatch* batch, bool with_open = false);

 private:
  struct Range {
    traces::NvtxRow row;
    std::string text;
    bool kept = false, watched = false;
  };
  struct Thread {
    std::mutex mutex;
    uint32_t id = 0;
    std::map<uint32_t, std::vector<Range>> open;  // by domain
    std::vector<Range> ended;
    int64_t lost = 0, unbalanced = 0;
  };
  static uint64_t NextSerial();
  Thread& ThisThread();
  Range MakeRange(uint32_t type, uint32_t domain, const Attributes& attributes);
  void Keep(Thread* thread, Range range);
  void BeginWatched(Range* range);
  void EndWatched(const Range& range);

  const uint64_t serial_ = NextSerial();  // two recorders may have one address, one after the other
  std::atomic<bool> recording_{true};
  std::string watched_text_;
  std::function<void(bool)> changed_;
  std::mutex watch_mutex_;
  int watched_open_ = 0;

  std::mutex mutex_;  // of what follows
  std::vector<std::shared_ptr<Thread>> threads_;
  std::unordered_map<uint64_t, Range> started_;
  uint64_t next_range_ = 1;
  uint32_t next_domain_ = 1;
  std::vector<Range> domains_;
  std::vector<std::pair<uint32_t, std::string>> names_;
  int64_t unbalanced_ends_ = 0;
};

}  // namespace lanescope::profiler
