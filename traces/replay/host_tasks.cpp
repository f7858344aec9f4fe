// SPDX-License-Identifier: Apache-2.0
#include "traces/replay/host_tasks.h"

#include <algorithm>
#include <map>

#include "core/base/statistics.h"

namespace lanescope::traces {
namespace {

constexpr int64_t kShortCallNs = 5'000;  // of a call that waits, where none of its name did not
// Fewer calls of other threads beside a silent one are no reason to think that it waits for them.
constexpr int kHandOverCalls = 4;

struct CallEnd {
  int64_t end_ns = 0, start_ns = 0, thread = 0;
  int call = 0;
};

class HostTaskMaker {
 public:
  HostTaskMaker(const TraceRun& run, const std::vector<HostWait>& waits, int64_t begin_ns, int first_queue,
                DeviceOperations* operations)
      : run_(run), waits_(waits), begin_ns_(begin_ns), first_queue_(first_queue), operations_(*operations) {
    made_.of_call.assign(run.api_calls.size(), -1);
    made_.after_call.assign(run.api_calls.size(), -1);
  }

  HostTasks Make() {
    host_work_ = operations_.AddName("host work");
    FindTypicalCalls();
    for (size_t i = 0; i < run_.api_calls.size(); ++i) {
      const TraceApiCall& call = run_.api_calls[i];
      threads_[call.global_tid].push_back(static_cast<int>(i));
      ends_[GlobalPidOf(call.global_tid)].push_back(
          {call.end_ns, call.start_ns, call.global_tid, static_cast<int>(i)});
      marks_[call.global_tid].insert(marks_[call.global_tid].end(), {call.start_ns, call.end_ns});
    }
    for (const TraceRange& range : run_.ranges) {
      if (range.process_wide || !threads_.contains(range.global_tid)) continue;
      marks_[range.global_tid].push_back(range.start_ns);
      if (!range.open) marks_[range.global_tid].push_back(range.end_ns);
    }
    for (auto& [process, ends] : ends_) std::ranges::stable_sort(ends, {}, &CallEnd::end_ns);
    for (auto& [thread, marks] : marks_) std::ranges::sort(marks);
    for (auto& [thread, calls] : threads_) AddThread(thread, &calls);
    return std::move(made_);
  }

 private:
  bool Waited(size_t call) const { return waits_[call].until_ns > run_.api_calls[call].start_ns; }

  void FindTypicalCalls() {
    std::map<int, std::vector<int64_t>> lengths;
    for (size_t i = 0; i < run_.api_calls.size(); ++i) {
      const TraceApiCall& call = run_.api_calls[i];
      if (!Waited(i)) lengths[call.name].push_back(call.end_ns - call.start_ns);
    }
    for (const auto& [name, of_name] : lengths)
      typical_[name] = static_cast<int64_t>(Quantile(of_name, 0.25));
  }

  void AddThread(int64_t thread, std::vector<int>* calls) {
    std::ranges::stable_sort(*calls, [&](int a, int b) {
      const TraceApiCall &x = Call(a), &y = Call(b);
      return x.start_ns != y.start_ns ? x.start_ns < y.start_ns : x.end_ns > y.end_ns;
    });
    const auto queue = first_queue_ + static_cast<int>(made_.queues.size());
    made_.queues.push_back({-1, GlobalPidOf(thread), LabelOf(thread), thread, -1});
    int64_t now = begin_ns_;
    int outer = -1;
    for (const int number : *calls) {
      const TraceApiCall& call = Call(number);
      if (outer >= 0 && call.start_ns < now) {
        made_.of_call[static_cast<size_t>(number)] = outer;
        continue;
      }
      if (call.start_ns > now) AddGap(queue, thread, now, call);
      outer = static_cast<int>(made_.tasks.size());
      made_.of_call[static_cast<size_t>(number)] = outer;
      ReplayTask task{ReplayTask::Kind::kCall, queue,      operations_.NameOfCall(call.name), call.step,
                      call.start_ns,           call.end_ns};
      task.ns = call.end_ns - call.start_ns;
      if (Waited(static_cast<size_t>(number))) {
        const auto typical = typical_.find(call.name);
        task.ns = std::min(task.ns, typical == typical_.end() ? kShortCallNs : typical->second);
      }
      made_.tasks.push_back(task);
      if (!waits_[static_cast<size_t>(number)].operations.empty()) {
        made_.after_call[static_cast<size_t>(number)] = AddWork(queue, call.step, call.end_ns, call.end_ns);
      }
      now = call.end_ns;
    }
  }

  std::string LabelOf(int64_t thread) const {
    for (const TraceThread& named : run_.threads) {
      if (named.global_tid == thread) return run_.Text(named.name);
    }
    return "thread " + std::to_string(thread & 0xffffff);
  }

  const TraceApiCall& Call(int number) const { return run_.api_calls[static_cast<size_t>(number)]; }

  int AddWork(int queue, int step, int64_t start_ns, int64_t end_ns) {
    ReplayTask task{ReplayTask::Kind::kHostWork, queue, host_work_, step, start_ns, end_ns};
    task.ns = end_ns - start_ns;
    made_.tasks.push_back(task);
    return static_cast<int>(made_.tasks.size()) - 1;
  }

  // Adds what the thread did from `now` to its next call.
  void AddGap(int queue, int64_t thread, int64_t now, const TraceApiCall& next) {
    int64_t silent = 0, from = now;
    int last = -1;
    const std::vector<int64_t>& marks = marks_[thread];
    auto mark = std::ranges::upper_bound(marks, now);
    for (int64_t quiet = now; quiet < next.start_ns;) {
      const int64_t until = mark == marks.end() ? next.start_ns : std::min(*mark++, next.start_ns);
      if (until - quiet > silent) {
        if (const int call = LastOfOthers(thread, quiet, until); call >= 0) {
          silent = until - quiet;
          from = quiet;
          last = call;
        }
      }
      quiet = until;
    }
    if (last < 0) {
      AddWork(queue, next.step, now, next.start_ns);
      return;
    }
    if (from > now) AddWork(queue, next.step, now, from);
    made_.hand_overs.push_back({last, AddWork(queue, next.step, Call(last).end_ns, next.start_ns)});
  }

  // The last call that another thread of the process began and ended in the time; -1: there are too few.
  int LastOfOthers(int64_t thread, int64_t from, int64_t until) {
    const std::vector<CallEnd>& ends = ends_[GlobalPidOf(thread)];
    auto end = std::ranges::upper_bound(ends, until, {}, &CallEnd::end_ns);
    int last = -1, count = 0;
    while (end != ends.begin() && count < kHandOverCalls) {
      --end;
      if (end->end_ns <= from) return -1;
      if (end->thread == thread || end->start_ns < from) continue;
      if (last < 0) last = end->call;
      ++count;
    }
    return count == kHandOverCalls ? last : -1;
  }

  const TraceRun& run_;
  const std::vector<HostWait>& waits_;
  const int64_t begin_ns_;
  const int first_queue_;
  DeviceOperations& operations_;
  HostTasks made_;
  int host_work_ = -1;
  std::map<int, int64_t> typical_;  // by name
  std::map<int64_t, std::vector<int>> threads_;
  std::map<int64_t, std::vector<CallEnd>> ends_;   // by process, by end
  std::map<int64_t, std::vector<int64_t>> marks_;  // by thread: when something of it is recorded
};

}  // namespace

HostTasks MakeHostTasks(const TraceRun& run, const std::vector<HostWait>& waits, int64_t begin_ns,
                        int first_queue, DeviceOperations* operations) {
  return HostTaskMaker(run, waits, begin_ns, first_queue, operations).Make();
}

}  // namespace lanescope::traces
