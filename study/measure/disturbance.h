// SPDX-License-Identifier: Apache-2.0
// Time that other programs, or machines on the same hardware, took from this one while it was measured.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/disturbance.h"

namespace lanescope::study {

// Reads the system's counters: /proc/stat, /proc/self/task/*/schedstat and getrusage. Threads that end
// between two readings take what they waited with them. Not thread-safe.
class DisturbanceMeter {
 public:
  // Begins a stretch. `companions`: processes of this computer that belong to the program, too. `proc`: where
  // the proc file system is mounted.
  explicit DisturbanceMeter(const std::vector<int>& companions = {}, std::string proc = "/proc");
  ~DisturbanceMeter();
  DisturbanceMeter(const DisturbanceMeter&) = delete;
  DisturbanceMeter& operator=(const DisturbanceMeter&) = delete;

  // The stretch since the last call or the beginning; the next one begins. Some 10 us a thread.
  Disturbance Take();

 private:
  struct Counters {
    int64_t wall_ns = 0, busy_ns = 0, own_ns = 0, stolen_ns = 0, preempted = 0;
  };
  struct Thread {
    int file = -1;
    int64_t waited_ns = 0;
    bool seen = false;
  };
  Counters Read() const;
  int64_t TakeWaited();
  int64_t TakeOthers(int64_t busy_ns, int64_t own_ns);

  const std::string proc_;
  std::vector<int> own_clocks_;  // of processor time
  int stat_ = -1;
  Counters last_;
  int64_t owed_ns_ = 0;            // our own processor time that no tick has shown yet
  std::map<int, Thread> threads_;  // by number
};

}  // namespace lanescope::study
