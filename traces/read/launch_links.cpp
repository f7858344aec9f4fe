// SPDX-License-Identifier: Apache-2.0
#include "traces/read/launch_links.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace lanescope::traces {
namespace {

// The ranges of one thread or process that have started, the latest on top. Times asked for never decrease.
class OpenRanges {
 public:
  explicit OpenRanges(const std::vector<TraceRange>& ranges) : ranges_(&ranges) {}
  void Push(int range) { stack_.push_back(range); }
  // The range that started last of those that have not ended before `time`; -1: none. What ended earlier
  // below the top is met when the top has gone, so ranges need not be nested.
  int Innermost(int64_t time) {
    while (!stack_.empty() && (*ranges_)[static_cast<size_t>(stack_.back())].end_ns < time) stack_.pop_back();
    return stack_.empty() ? -1 : stack_.back();
  }

 private:
  const std::vector<TraceRange>* ranges_;
  std::vector<int> stack_;
};

}  // namespace

ApiCallIndex::ApiCallIndex(const std::vector<TraceApiCall>& calls) {
  entries_.reserve(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].correlation <= 0) continue;  // 0 is none, too
    entries_.push_back(
        {calls[i].correlation, GlobalPidOf(calls[i].global_tid), calls[i].start_ns, static_cast<int>(i)});
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.correlation, a.global_pid, a.start_ns) <
           std::tie(b.correlation, b.global_pid, b.start_ns);
  });
}

int ApiCallIndex::Find(int64_t global_pid, int64_t correlation, int64_t not_after) const {
  if (correlation <= 0) return -1;
  auto entry = std::lower_bound(entries_.begin(), entries_.end(), std::pair(correlation, global_pid),
                                [global_pid](const Entry& a, const std::pair<int64_t, int64_t>& key) {
                                  if (a.correlation != key.first) return a.correlation < key.first;
                                  return global_pid != 0 && a.global_pid < key.second;
                                });
  int found = -1;
  for (; entry != entries_.end() && entry->correlation == correlation; ++entry) {
    if (global_pid != 0 && entry->global_pid != global_pid) break;
    if (found < 0 || entry->start_ns <= not_after) found = entry->call;
    if (entry->start_ns > not_after && global_pid != 0) break;
  }
  return found;
}

void LinkApiCallsToRanges(TraceRun* run) {
  if (run->ranges.empty() || run->api_calls.empty()) return;
  std::vector<int> calls(run->api_calls.size());
  std::iota(calls.begin(), calls.end(), 0);
  const auto start_of = [run](int call) { return run->api_calls[static_cast<size_t>(call)].start_ns; };
  std::sort(calls.begin(), calls.end(), [&](int a, int b) { return start_of(a) < start_of(b); });
  std::unordered_map<int64_t, OpenRanges> by_thread, by_process;
  const auto innermost = [](std::unordered_map<int64_t, OpenRanges>& open, int64_t key, int64_t time) {
    const auto found = open.find(key);
    return found == open.end() ? -1 : found->second.Innermost(time);
  };
  size_t next = 0;
  for (const int number : calls) {
    TraceApiCall& call = run->api_calls[static_cast<size_t>(number)];
    for (; next < run->ranges.size() && run->ranges[next].start_ns <= call.start_ns; ++next) {
      const TraceRange& range = run->ranges[next];
      auto& open = range.process_wide ? by_process : by_thread;
      const int64_t key = range.process_wide ? GlobalPidOf(range.global_tid) : range.global_tid;
      open.try_emplace(key, run->ranges).first->second.Push(static_cast<int>(next));
    }
    // Ranges are numbered by start, so the larger number started later.
    call.range = std::max(innermost(by_thread, call.global_tid, call.start_ns),
                          innermost(by_process, GlobalPidOf(call.global_tid), call.start_ns));
  }
}

}  // namespace lanescope::traces
