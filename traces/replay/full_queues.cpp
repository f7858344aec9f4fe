// SPDX-License-Identifier: Apache-2.0
#include "traces/replay/full_queues.h"

#include <algorithm>
#include <map>

#include "core/base/statistics.h"

namespace lanescope::traces {
namespace {

constexpr double kUsual = 0.1;          // the share of a name's calls that are shorter: most may be held up
constexpr double kLongLaunch = 1.5;     // times the usual length of a call of the name
constexpr double kNearlyFull = 0.9;     // of the most launches that ever wait
constexpr int64_t kFewestWaiting = 4;   // a queue that is shorter is none that may be full
constexpr int64_t kFewestHeld = 4;      // calls that show the law
constexpr int64_t kReturnNs = 100'000;  // room is told to the thread so late, at most
constexpr int64_t kNotableNs = 10'000;  // a launch that is longer by less does not count as unexplained
constexpr int64_t kClocksDifferNs = 5'000;  // clocks of threads and devices differ

struct QueuedLaunch {
  int call = 0;
  int64_t waiting = 0;  // launches of the stream before it whose work had not ended
  int before_end = -1;  // the operation of the stream that had ended last when the call ended
};

class FullQueues {
 public:
  FullQueues(const TraceRun& run, const DeviceOperations& operations, std::vector<HostWait>* waits,
             ReplayFacts* facts)
      : run_(run), operations_(operations), waits_(*waits), facts_(*facts) {}

  void Find() {
    FindUsual();
    for (const DeviceStream& stream : operations_.streams()) FindOfStream(stream);
    CountFrozenWaits();
  }

 private:
  const TraceApiCall& Call(int call) const { return run_.api_calls[static_cast<size_t>(call)]; }
  const DeviceOperation& Operation(int number) const {
    return operations_.all()[static_cast<size_t>(number)];
  }
  bool Waited(int call) const { return waits_[static_cast<size_t>(call)].until_ns > Call(call).start_ns; }
  int64_t Length(int call) const { return Call(call).end_ns - Call(call).start_ns; }
  int64_t Usual(int call) const { return usual_.at(Call(call).name); }

  void FindUsual() {
    std::map<int, std::vector<int64_t>> lengths;  // by name
    for (const DeviceOperation& operation : operations_.all()) {
      if (operation.call >= 0 && !Waited(operation.call))
        lengths[Call(operation.call).name].push_back(Length(operation.call));
    }
    for (const auto& [name, of_name] : lengths)
      usual_[name] = static_cast<int64_t>(Quantile(of_name, kUsual));
  }

  // Calls of the stream that launch and wait for nothing that is known, in their order.
  std::vector<QueuedLaunch> LaunchesOf(const DeviceStream& stream) const {
    std::vector<std::pair<int64_t, int>> ends;      // of launches, with the operation that ends last
    std::vector<std::pair<int, int64_t>> launches;  // calls, and how many launches come before
    int call = -1;
    for (const int number : stream.launched) {
      const DeviceOperation& operation = Operation(number);
      if (operation.call >= 0 && operation.call == call) {
        ends.back() = std::max(ends.back(), std::pair(operation.end_ns, number));
        continue;
      }
      call = operation.call;
      if (call >= 0 && !Waited(call)) launches.emplace_back(call, std::ssize(ends));
      ends.emplace_back(operation.end_ns, number);
    }
    std::ranges::sort(ends);
    const auto ended_by = [&](int64_t time) {
      return std::ranges::upper_bound(ends, time, {}, &std::pair<int64_t, int>::first) - ends.begin();
    };
    std::vector<QueuedLaunch> found;
    for (const auto& [of, before] : launches) {
      const auto ended = ended_by(Call(of).end_ns + kClocksDifferNs);
      found.push_back({of, before - ended_by(Call(of).start_ns),
                       ended == 0 ? -1 : ends[static_cast<size_t>(ended - 1)].second});
    }
    return found;
  }

  bool IsHeld(const QueuedLaunch& launch, int64_t most_waiting) const {
    if (static_cast<double>(launch.waiting) < kNearlyFull * static_cast<double>(most_waiting)) return false;
    if (launch.before_end < 0) return false;
    const int64_t end = Operation(launch.before_end).end_ns;
    return end > Call(launch.call).start_ns && Call(launch.call).end_ns - end <= kReturnNs;
  }

  void FindOfStream(const DeviceStream& stream) {
    std::vector<QueuedLaunch> launches = LaunchesOf(stream);
    int64_t most_waiting = 0;
    for (const QueuedLaunch& launch : launches) most_waiting = std::max(most_waiting, launch.waiting);
    if (most_waiting < kFewestWaiting) return;
    std::erase_if(launches, [&](const QueuedLaunch& launch) {
      const auto usual = static_cast<double>(Usual(launch.call));
      return launch.waiting < kFewestWaiting ||
             static_cast<double>(Length(launch.call)) <= kLongLaunch * usual;
    });
    const auto held = std::ranges::count_if(
        launches, [&](const QueuedLaunch& launch) { return IsHeld(launch, most_waiting); });
    for (const QueuedLaunch& launch : launches) {
      if (held >= kFewestHeld && IsHeld(launch, most_waiting)) {
        Hold(launch);
      } else if (const int64_t longer = Length(launch.call) - Usual(launch.call); longer >= kNotableNs) {
        ++facts_.frozen;
        facts_.frozen_ns += longer;
      }
    }
  }

  // The trace may have nothing that a synchronisation waited for.
  void CountFrozenWaits() {
    for (int call = 0; call < static_cast<int>(waits_.size()); ++call) {
      const bool waits = run_.Text(Call(call).name).find("Synchronize") != std::string::npos;
      if (!waits || Waited(call) || Length(call) < kNotableNs) continue;
      ++facts_.frozen;
      facts_.frozen_ns += Length(call);
    }
  }

  void Hold(const QueuedLaunch& launch) {
    HostWait& wait = waits_[static_cast<size_t>(launch.call)];
    wait.operations.push_back(launch.before_end);
    wait.until_ns = Operation(launch.before_end).end_ns;
    wait.full_queue = true;
    ++facts_.full_queues;
  }

  const TraceRun& run_;
  const DeviceOperations& operations_;
  std::vector<HostWait>& waits_;
  ReplayFacts& facts_;
  std::map<int, int64_t> usual_;  // length of a call, by name
};

}  // namespace

void FindFullQueues(const TraceRun& run, const DeviceOperations& operations, std::vector<HostWait>* waits,
                    ReplayFacts* facts) {
  FullQueues(run, operations, waits, facts).Find();
}

}  // namespace lanescope::traces
