// SPDX-License-Identifier: Apache-2.0
// The processes of a job as threads of a test: messages are copied from memory to memory.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "exec/messages/transport.h"

namespace lanescope::test {

// Messages that some end has started and that are not done. Thread-safe.
class MessageBoard {
 public:
  explicit MessageBoard(int size)
      : size_(size), news_(static_cast<size_t>(size), 0), handed_in_(static_cast<size_t>(size)) {}

  int size() const { return size_; }

  // Called, one at a time, with every message that arrives: by whom, to whom, and what.
  using Watch = std::function<void(int from, int to, int tag, std::string_view content)>;
  void SetWatch(Watch watch) {
    const std::lock_guard lock(mutex_);
    watch_ = std::move(watch);
  }

  uint64_t Add(bool is_send, int from, int to, int tag, void* data, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    open_.push_back({++last_, is_send, from, to, tag, data, bytes});
    MeetOther(&open_.back());
    return last_;
  }
  void Post(int from, int to, int tag, const void* data, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    open_.push_back({++last_, true, from, to, tag, nullptr, bytes});
    End& end = open_.back();
    end.is_posted = true;
    end.copy.assign(static_cast<const char*>(data), static_cast<const char*>(data) + bytes);
    end.data = end.copy.data();
    MeetOther(&end);
  }

  bool Test(uint64_t ticket) {
    const std::lock_guard lock(mutex_);
    const auto found = Find(ticket);
    if (found != open_.end() && !found->done) return false;
    if (found != open_.end()) open_.erase(found);
    return true;
  }

  void Cancel(uint64_t ticket) {
    const std::lock_guard lock(mutex_);
    if (const auto found = Find(ticket); found != open_.end()) open_.erase(found);
  }

  uint32_t News(int rank) {
    const std::lock_guard lock(mutex_);
    return news_[static_cast<size_t>(rank)];
  }
  void AwaitNews(int rank, uint32_t seen, int64_t until_ns) {
    std::unique_lock lock(mutex_);
    const auto left = std::chrono::nanoseconds(until_ns - NowNs());
    came_in_.wait_for(lock, left, [&] { return news_[static_cast<size_t>(rank)] != seen; });
  }
  void Nudge(int rank) {
    const std::lock_guard lock(mutex_);
    ++news_[static_cast<size_t>(rank)];
    came_in_.notify_all();
  }

  std::vector<std::string> Share(int rank, const std::string& mine) {
    std::unique_lock lock(mutex_);
    const int round = round_;
    handed_in_[static_cast<size_t>(rank)] = mine;
    if (++arrived_ == size_) {
      arrived_ = 0;
      shared_ = handed_in_;
      ++round_;
      all_here_.notify_all();
    }
    all_here_.wait(lock, [&] { return round_ != round; });
    return shared_;
  }

 private:
  struct End {
    uint64_t ticket;
    bool is_send;
    int from, to, tag;
    void* data;
    int64_t bytes;
    bool done = false;
    bool is_posted = false;  // of its copy; nobody asks for its ticket
    std::vector<char> copy = {};
  };

  // If its other end is there, the message is done.
  void MeetOther(End* end) {
    const auto other = std::find_if(open_.begin(), open_.end(), [&](const End& at) {
      return at.is_send != end->is_send && at.from == end->from && at.to == end->to && at.tag == end->tag &&
             !at.done;
    });
    if (other == open_.end()) return;
    LANESCOPE_CHECK(other->bytes == end->bytes);
    const End &send = end->is_send ? *end : *other, &receive = end->is_send ? *other : *end;
    if (send.bytes > 0) std::memcpy(receive.data, send.data, static_cast<size_t>(send.bytes));
    if (watch_) {
      const std::string_view content(static_cast<const char*>(send.data), static_cast<size_t>(send.bytes));
      watch_(send.from, send.to, send.tag, content);
    }
    end->done = other->done = true;
    ++news_[static_cast<size_t>(end->from)];
    ++news_[static_cast<size_t>(end->to)];
    came_in_.notify_all();
    std::erase_if(open_, [](const End& at) { return at.done && at.is_posted; });
  }
  std::list<End>::iterator Find(uint64_t ticket) {
    return std::find_if(open_.begin(), open_.end(), [&](const End& end) { return end.ticket == ticket; });
  }

  const int size_;
  std::mutex mutex_;
  std::condition_variable all_here_, came_in_;
  Watch watch_;
  std::vector<uint32_t> news_;  // by rank
  std::list<End> open_;
  uint64_t last_ = 0;
  int arrived_ = 0, round_ = 0;
  std::vector<std::string> handed_in_, shared_;
};

class MemoryTransport : public exec::Transport {
 public:
  MemoryTransport(MessageBoard* board, int rank, int most_tag = INT_MAX, int64_t most_bytes = INT64_MAX)
      : board_(*board), rank_(rank), most_tag_(most_tag), most_bytes_(most_bytes) {}

  int rank() const override { return rank_; }
  int size() const override { return board_.size(); }
  int most_tag() const override { return most_tag_; }
  int64_t most_bytes() const override { return most_bytes_; }
  std::string NameOf(int rank) const override { return fmt::format("rank {} here", rank); }
  Ticket Send(int to, int tag, const void* data, int64_t bytes) override {
    LANESCOPE_CHECK(bytes <= most_bytes_);
    return board_.Add(true, rank_, to, tag, const_cast<void*>(data), bytes);
  }
  Ticket Receive(int from, int tag, void* data, int64_t bytes) override {
    return board_.Add(false, from, rank_, tag, data, bytes);
  }
  void Post(int to, int tag, const void* data, int64_t bytes) override {
    board_.Post(rank_, to, tag, data, bytes);
  }
  Ticket ReceivePosted(int from, int tag, void* data, int64_t bytes) override {
    return Receive(from, tag, data, bytes);
  }
  bool Test(Ticket ticket) override { return board_.Test(ticket); }
  void Cancel(Ticket ticket) override { board_.Cancel(ticket); }
  std::vector<std::string> Share(const std::string& mine) override { return board_.Share(rank_, mine); }
  uint32_t News() const override { return board_.News(rank_); }
  void AwaitNews(uint32_t seen, int64_t until_ns) override { board_.AwaitNews(rank_, seen, until_ns); }
  bool IsOneComputer() const override { return true; }
  void Nudge(int rank) override { board_.Nudge(rank); }

 private:
  MessageBoard& board_;
  const int rank_, most_tag_;
  const int64_t most_bytes_;
};

}  // namespace lanescope::test
