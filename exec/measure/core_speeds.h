// SPDX-License-Identifier: Apache-2.0
// How fast the cores are at a moment. What shares the hardware with this machine but not its system, such as
// a thread of another machine on the same core, slows a core down for tenths of seconds or for minutes, and
// no counter of the system tells.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <vector>

#include "core/base/thread.h"

namespace lanescope::exec {

// Keeps a thread on each core that this process may use, which sleep between two calls. Not thread-safe.
class CoreSpeeds {
 public:
  // Throws ResourceExhausted where there are fewer threads left than cores.
  CoreSpeeds();
  ~CoreSpeeds();
  CoreSpeeds(const CoreSpeeds&) = delete;
  CoreSpeeds& operator=(const CoreSpeeds&) = delete;

  // The time of a small product of matrices, in ps: on each core the median of some, all at once; their mean.
  // Some 0.2 ms in all. Throws what a thread has thrown.
  int64_t Take();

 private:
  explicit CoreSpeeds(std::vector<int> cores);
  void Run(size_t core);
  void MeasureProducts(size_t core);

  std::vector<int> cores_;                    // the system's numbers
  std::vector<int64_t> ns_;                   // by core; of the threads while they work
  std::vector<std::exception_ptr> failures_;  // as ns_; null: none
  std::atomic<int> asked_{0};                 // how often the threads were asked; negative: to end
  std::atomic<int> working_{0};
  std::vector<Thread> threads_;
};

}  // namespace lanescope::exec
