// SPDX-License-Identifier: Apache-2.0
#include "profiler/nvtx_recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/base/clock.h"
#include "profiler/clock_alignment.h"

namespace lanescope::profiler {
namespace {

// Numbers of ENUM_NSYS_EVENT_TYPE.
constexpr uint32_t kMark = 34, kPushPop = 59, kStartEnd = 60, kDomainCreate = 75;
// A program that never stops pushing, or a flush that does not come, must not eat its memory.
constexpr size_t kMaxKept = size_t{1} << 19;
constexpr size_t kMaxRangeText = 4096;

}  // namespace

uint64_t NvtxRecorder::NextSerial() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

NvtxRecorder::Thread& NvtxRecorder::ThisThread() {
  thread_local std::pair<uint64_t, std::shared_ptr<Thread>> mine;
  const auto id = static_cast<uint32_t>(syscall(SYS_gettid));
  if (mine.first != serial_ || mine.second->id != id) {
    mine = {serial_, std::make_shared<Thread>()};
    mine.second->id = id;
    std::lock_guard lock(mutex_);
    threads_.push_back(mine.second);
  }
  return *mine.second;
}

NvtxRecorder::Range NvtxRecorder::MakeRange(uint32_t type, uint32_t domain, const Attributes& attributes) {
  Range range;
  range.row.start = NowNs();
  range.row.type = type;
  range.row.domain = domain;
  range.row.category = attributes.category;
  range.row.color = attributes.color;
  range.row.has_color = attributes.has_color ? 1 : 0;
  range.text = attributes.text.substr(0, kMaxRangeText);
  return range;
}

void NvtxRecorder::Keep(Thread* thread, Range range) {
  if (!range.kept) return;
  if (thread->ended.size() >= kMaxKept) {
    ++thread->lost;
  } else {
    thread->ended.push_back(std::move(range));
  }
}

void NvtxRecorder::Watch(std::string text, std::function<void(bool)> changed) {
  watched_text_ = std::move(text);
  changed_ = std::move(changed);
}

void NvtxRecorder::BeginWatched(Range* range) {
  if (watched_text_.empty() || range->text != watched_text_) return;
  range->watched = true;
  std::lock_guard lock(watch_mutex_);
  if (++watched_open_ == 1) changed_(true);
}

void NvtxRecorder::EndWatched(const Range& range) {
  if (!range.watched) return;
  std::lock_guard lock(watch_mutex_);
  if (--watched_open_ == 0) changed_(false);
}

int NvtxRecorder::Push(uint32_t domain, const Attributes& attributes) {
  Range range = MakeRange(kPushPop, domain, attributes);
  BeginWatched(&range);
  range.kept = recording_.load(std::memory_order_relaxed);
  Thread& thread = ThisThread();
  range.row.thread = thread.id;
  std::lock_guard lock(thread.mutex);
  std::vector<Range>& open = thread.open[domain];
  open.push_back(std::move(range));
  return static_cast<int>(open.size()) - 1;
}

int NvtxRecorder::Pop(uint32_t domain) {
  const int64_t now = NowNs();
  Thread& thread = ThisThread();
  Range range;
  int depth = 0;
  {
    std::lock_guard lock(thread.mutex);
    std::vector<Range>& open = thread.open[domain];
    if (open.empty()) {
      ++thread.unbalanced;
      return -1;
    }
    range = std::move(open.back());
    open.pop_back();
    depth = static_cast<int>(open.size());
    range.row.end = std::max(now, range.row.start + 1);
    if (!range.watched) {
      Keep(&thread, std::move(range));
      return depth;
    }
  }
  EndWatched(range);
  std::lock_guard lock(thread.mutex);
  Keep(&thread, std::move(range));
  return depth;
}

uint64_t NvtxRecorder::Start(uint32_t domain, const Attributes& attributes) {
  Range range = MakeRange(kStartEnd, domain, attributes);
  BeginWatched(&range);
  range.kept = recording_.load(std::memory_order_relaxed);
  range.row.thread = ThisThread().id;
  std::lock_guard lock(mutex_);
  const uint64_t number = next_range_++;
  range.row.range = number;
  if (started_.size() < kMaxKept) started_.emplace(number, std::move(range));
  return number;
}

void NvtxRecorder::End(uint64_t number) {
  const int64_t now = NowNs();
  Thread& thread = ThisThread();
  Range range;
  {
    std::lock_guard lock(mutex_);
    const auto found = started_.find(number);
    if (found == started_.end()) {
      ++unbalanced_ends_;
      return;
    }
    range = std::move(found->second);
    started_.erase(found);
  }
  range.row.end = std::max(now, range.row.start + 1);
  range.row.end_thread = thread.id;
  EndWatched(range);
  std::lock_guard lock(thread.mutex);
  Keep(&thread, std::move(range));
}

void NvtxRecorder::Mark(uint32_t domain, const Attributes& attributes) {
  Range range = MakeRange(kMark, domain, attributes);
  range.kept = recording_.load(std::memory_order_relaxed);
  Thread& thread = ThisThread();
  range.row.thread = thread.id;
  std::lock_guard lock(thread.mutex);
  Keep(&thread, std::move(range));
}

uint32_t NvtxRecorder::CreateDomain(std::string_view name) {
  Attributes attributes;
  attributes.text = name;
  Range range = MakeRange(kDomainCreate, 0, attributes);
  range.row.thread = ThisThread().id;
  std::lock_guard lock(mutex_);
  range.row.domain = next_domain_++;
  const uint32_t domain = range.row.domain;
  domains_.push_back(std::move(range));
  return domain;
}

void NvtxRecorder::NameThread(uint32_t thread, std::string_view name) {
  std::lock_guard lock(mutex_);
  if (names_.size() < kMaxKept) names_.emplace_back(thread, name.substr(0, kMaxRangeText));
}

void NvtxRecorder::Take(traces::ActivityBatch* batch, bool with_open) {
  const auto add = [&](const Range& range) {
    batch->ranges.push_back(range.row);
    batch->ranges.back().text = batch->AddText(range.text);
  };
  std::vector<std::shared_ptr<Thread>> threads;
  {
    std::lock_guard lock(mutex_);
    threads = threads_;
    for (const Range& domain : std::exchange(domains_, {})) add(domain);
    for (const auto& [thread, name] : std::exchange(names_, {})) {
      batch->threads.push_back({thread, batch->AddText(name)});
    }
    batch->Count(traces::Loss::kUnbalancedRanges, std::exchange(unbalanced_ends_, 0));
    if (with_open) {
      for (const auto& [number, range] : started_) {
        if (range.kept) add(range);
      }
    }
  }
  for (const std::shared_ptr<Thread>& thread : threads) {
    std::vector<Range> ended;
    std::lock_guard lock(thread->mutex);
    ended.swap(thread->ended);
    for (const Range& range : ended) add(range);
    batch->Count(traces::Loss::kNotSent, std::exchange(thread->lost, 0));
    batch->Count(traces::Loss::kUnbalancedRanges, std::exchange(thread->unbalanced, 0));
    if (!with_open) continue;
    for (const auto& [domain, open] : thread->open) {
      for (const Range& range : open) {
        if (range.kept) add(range);
      }
    }
  }
  // A thread that has ended holds its record no more, and only then may it go: one that came meanwhile is
  // still empty.
  threads.clear();
  std::lock_guard lock(mutex_);
  std::erase_if(threads_, [](const std::shared_ptr<Thread>& thread) {
    if (thread.use_count() > 1) return false;
    std::lock_guard held(thread->mutex);
    return thread->ended.empty();
  });
}

}  // namespace lanescope::profiler
