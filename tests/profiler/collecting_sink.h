// SPDX-License-Identifier: Apache-2.0
// A sink that keeps what it gets.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "traces/record/activity_rows.h"

namespace lanescope::profiler {

class CollectingSink : public traces::ActivitySink {
 public:
  void Consume(traces::ActivityBatch batch) override {
    std::lock_guard lock(mutex_);
    batches_.push_back(std::move(batch));
  }
  std::vector<traces::ActivityBatch> Take() {
    std::lock_guard lock(mutex_);
    return std::exchange(batches_, {});
  }
  bool WaitForBatches(size_t count) {
    for (int i = 0; i < 12000; ++i) {
      {
        std::lock_guard lock(mutex_);
        if (batches_.size() >= count) return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

 private:
  std::mutex mutex_;
  std::vector<traces::ActivityBatch> batches_;
};

}  // namespace lanescope::profiler
