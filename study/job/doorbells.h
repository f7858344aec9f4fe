// SPDX-License-Identifier: Apache-2.0
// How the processes of a job on one computer wake each other. Internal to study.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lanescope::study {

// A number in shared memory for each process, which others count up when they have sent it something, and
// which its threads sleep on. Where there is no shared memory with one of the processes, those of other
// computers among them, there is none of its bells. Thread-safe.
class Doorbells {
 public:
  // All processes make theirs at the same time. `share`: what every process hands in, by rank, once all have
  // called it. Nothing stays in the file system, unless the process is killed in here.
  Doorbells(int rank, const std::function<std::vector<std::string>(const std::string&)>& share);
  ~Doorbells();
  Doorbells(const Doorbells&) = delete;
  Doorbells& operator=(const Doorbells&) = delete;

  // Every process rings this one's bell.
  bool AllRing() const { return all_ring_; }
  // How often this process' bell has rung.
  uint32_t count() const;
  // Returns once the count is no longer `seen`, or at `until_ns` (of NowNs) at the latest; sooner for no
  // reason, too.
  void Await(uint32_t seen, int64_t until_ns);
  // A rank without a bell hears nothing. Wakes who sleeps; costs a system call only then.
  void Ring(int rank);

 private:
  // Read and written by processes that may be of another mind: nothing but a wake-up depends on it.
  struct Bell {
    std::atomic<uint32_t> count{0};
    std::atomic<uint32_t> sleepers{0};
  };
  Bell* Map(int file);

  const int rank_;
  Bell own_;                  // where shared memory cannot be had
  std::vector<Bell*> bells_;  // by rank; null: none
  std::vector<Bell*> mapped_;
  bool all_ring_ = false;
};

}  // namespace lanescope::study
