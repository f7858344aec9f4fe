// SPDX-License-Identifier: Apache-2.0
// The path of a step of which only times are known, and the time that work shares: both as work comes by
// start, so that nobody needs a list of it. Internal to core.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/runs/step_path.h"

namespace lanescope {

// Items of `Work` (start_ns, end_ns and more) that have begun and perhaps ended, the one of the least `Key`
// on top. What ended below the top is dropped once it is most of them, so that one that lasts long costs no
// more memory than what runs beside it.
template <typename Work, auto Key>
class Running {
 public:
  bool empty() const { return heap_.empty(); }
  const Work& top() const { return heap_.front(); }
  void Push(const Work& work, int64_t now) {
    if (heap_.size() >= prune_at_) {
      std::erase_if(heap_, [now](const Work& each) { return each.end_ns <= now; });
      std::make_heap(heap_.begin(), heap_.end(), Later);
      prune_at_ = std::max<size_t>(64, 2 * heap_.size());
    }
    heap_.push_back(work);
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }
  void Pop() {
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    heap_.pop_back();
  }

 private:
  static bool Later(const Work& a, const Work& b) {
    return a.*Key != b.*Key ? a.*Key > b.*Key : a.number > b.number;
  }
  std::vector<Work> heap_;
  size_t prune_at_ = 64;
};

// Which work of the first kind that has one runs, moment by moment, from start to end of a step: of several
// the one that began first. `Who`: what the owner calls a piece of work.
template <typename Who>
class PathCover {
 public:
  PathCover(int64_t start_ns, int64_t end_ns) : now_(start_ns), end_ns_(end_ns) {}

  // By start. Calls `emit(who, waiting, start_ns, end_ns)` for the moments before it; `who` of waiting is
  // what began after it.
  template <typename Emit>
  void Add(WorkKind kind, int64_t start_ns, int64_t end_ns, const Who& who, const Emit& emit) {
    if (start_ns > now_) Advance(std::min(start_ns, end_ns_), &who, emit);
    if (now_ < end_ns_) running_[static_cast<size_t>(kind)].Push({start_ns, end_ns, number_++, who}, now_);
  }
  // The moments after all work; `who` of what waits for nothing is null.
  template <typename Emit>
  void Finish(const Emit& emit) {
    Advance(end_ns_, nullptr, emit);
  }

 private:
  struct Work {
    int64_t start_ns = 0, end_ns = 0;
    uint64_t number = 0;
    Who who;
  };

  template <typename Emit>
  void Advance(int64_t limit_ns, const Who* next, const Emit& emit) {
    while (now_ < limit_ns) {
      const Work* runs = nullptr;
      for (auto& of_kind : running_) {
        while (!of_kind.empty() && of_kind.top().end_ns <= now_) of_kind.Pop();
        if (runs == nullptr && !of_kind.empty()) runs = &of_kind.top();
      }
      const int64_t until = runs == nullptr ? limit_ns : std::min(limit_ns, runs->end_ns);
      emit(runs == nullptr ? next : &runs->who, runs == nullptr, now_, until);
      now_ = until;
    }
  }

  int64_t now_, end_ns_;
  uint64_t number_ = 0;
  std::array<Running<Work, &Work::start_ns>, 3> running_;  // by WorkKind
};

// How long work that competes for one thing ran beside other such work.
template <typename Who>
class SharedTime {
 public:
  // By start. Calls `emit(who, shared_ns)` for what ended before.
  template <typename Emit>
  void Add(int64_t start_ns, int64_t end_ns, const Who& who, const Emit& emit) {
    Advance(start_ns, emit);
    running_.push_back({end_ns, shared_ns_, who});
    std::push_heap(running_.begin(), running_.end(), Later);
  }
  template <typename Emit>
  void Finish(const Emit& emit) {
    Advance(INT64_MAX, emit);
  }

 private:
  struct Work {
    int64_t end_ns = 0, shared_before_ns = 0;
    Who who;
  };
  static bool Later(const Work& a, const Work& b) { return a.end_ns > b.end_ns; }

  template <typename Emit>
  void Advance(int64_t until_ns, const Emit& emit) {
    while (!running_.empty() && running_.front().end_ns <= until_ns) {
      Count(running_.front().end_ns);
      std::pop_heap(running_.begin(), running_.end(), Later);
      const Work ended = running_.back();
      running_.pop_back();
      emit(ended.who, shared_ns_ - ended.shared_before_ns);
    }
    if (!running_.empty()) Count(until_ns);
    now_ = std::max(now_, until_ns);
  }
  void Count(int64_t time_ns) {
    if (running_.size() > 1 && time_ns > now_) shared_ns_ += time_ns - now_;
    now_ = std::max(now_, time_ns);
  }

  int64_t now_ = INT64_MIN;
  int64_t shared_ns_ = 0;  // so far two or more ran
  std::vector<Work> running_;
};

}  // namespace lanescope
