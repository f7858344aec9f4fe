// SPDX-License-Identifier: Apache-2.0
// A reader that several launches may want at once: they take turns, and wait for theirs without a thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "exec/device/kernel.h"
#include "exec/readers/reader.h"

namespace lanescope::exec {

// Thread-safe, but for reader(), which is for who has the turn.
class SharedReader final : public Resource {
 public:
  static constexpr char kTypeName[] = "Reader";
  // Names who waits.
  using Ticket = uint64_t;

  explicit SharedReader(std::unique_ptr<RecordFormat> format) : reader_(std::move(format)) {}

  // 0: the turn is the caller's. Else it is when `granted` is called, from any thread, maybe before this
  // returns.
  Ticket Take(std::function<void()> granted);
  // The turn goes to the next.
  void Release();
  // Gives up waiting. False: it has the turn already.
  bool Leave(Ticket ticket);

  Reader& reader() { return reader_; }
  // As of the last turn that ended.
  int64_t records_produced() const { return records_produced_.load(); }
  int64_t work_units_completed() const { return work_units_completed_.load(); }

 private:
  struct Waiting {
    Ticket ticket;
    std::function<void()> granted;
  };

  std::mutex mutex_;
  bool is_taken_ = false;
  Ticket last_ticket_ = 0;
  std::list<Waiting> waiting_;
  Reader reader_;
  std::atomic<int64_t> records_produced_{0};
  std::atomic<int64_t> work_units_completed_{0};
};

}  // namespace lanescope::exec
