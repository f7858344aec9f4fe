// SPDX-License-Identifier: Apache-2.0
#include "traces/report/input_use.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/printable.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "core/time/intervals.h"
#include "traces/read/trace_reader.h"
#include "traces/report/device_usage.h"

namespace lanescope::traces {
namespace {

// Shares below this are said to be nothing.
constexpr double kNotable = 0.01;

class UseFinder {
 public:
  UseFinder(const InputRecord& input, std::span<const TraceNode> nodes, std::span<const Interval> windows)
      : input_(input), windows_(windows) {
    for (const TraceNode& node : nodes) {
      if (node.op.starts_with("QueueEnqueue")) enqueues_.push_back(node.id);
    }
    std::ranges::sort(enqueues_);
    use_.window_ns = TotalLength(windows);
    for (const InputQueue& queue : input.queues) {
      queues_[queue.number] = use_.queues.size();
      use_.queues.push_back({.name = queue.name, .capacity = queue.capacity, .kept = queue.kept});
    }
    for (const InputThread& thread : input.threads) {
      threads_[thread.number] = use_.threads.size();
      use_.threads.push_back({.op = thread.op, .queue = thread.queue});
    }
  }

  InputUse Find(std::span<const DeviceIntervals> devices) {
    AddWaits(devices);
    AddSteps();
    AddFills();
    return std::move(use_);
  }

 private:
  struct ThreadStep {
    int64_t start = 0, end = 0, waited = 0;
  };

  bool IsEnqueue(int node) const { return std::ranges::binary_search(enqueues_, node); }

  void AddWaits(std::span<const DeviceIntervals> devices) {
    IntervalSet all;
    std::vector<IntervalSet> starved(use_.queues.size()), full(use_.queues.size());
    std::vector<IntervalSet> waited(use_.threads.size()), blocked(use_.threads.size());
    for (const InputWait& wait : input_.waits) {
      const size_t queue = queues_.at(wait.queue);
      if (wait.thread == kNoInputThread) {
        all.Add(wait.start_ns, wait.end_ns);
        (IsEnqueue(wait.node) ? full : starved)[queue].Add(wait.start_ns, wait.end_ns);
        continue;
      }
      const bool for_room = IsEnqueue(wait.node);
      if (for_room) full[queue].Add(wait.start_ns, wait.end_ns);
      (for_room ? blocked : waited)[threads_.at(wait.thread)].Add(wait.start_ns, wait.end_ns);
    }
    const auto within = [&](IntervalSet& set) { return TotalLength(ClipTo(set.Union(), windows_)); };
    for (size_t q = 0; q < starved.size(); ++q) {
      use_.queues[q].starved_ns = within(starved[q]);
      use_.queues[q].full_ns = within(full[q]);
    }
    for (size_t t = 0; t < waited.size(); ++t) {
      use_.threads[t].waited_ns = within(waited[t]);
      use_.threads[t].blocked_ns = within(blocked[t]);
    }
    use_.devices = static_cast<int>(devices.size());
    const std::vector<Interval> waits = ClipTo(all.Union(), windows_);
    int64_t sum = 0;
    for (const DeviceIntervals& device : devices) {
      const auto kernels = UnionOf(device.compute, device.communication);
      const auto busy = UnionOf(kernels, UnionOf(device.copies, device.local_copies));
      sum += TotalLength(waits) - IntersectionLength(waits, busy);
    }
    use_.wait_ns = devices.empty() ? TotalLength(waits) : sum / use_.devices;
  }

  void AddSteps() {
    std::map<std::pair<int, int>, int64_t> waited;  // by thread and step
    for (const InputWait& wait : input_.waits) {
      if (wait.thread != kNoInputThread) waited[{wait.thread, wait.step}] += wait.end_ns - wait.start_ns;
    }
    std::vector<int64_t> waits_of(use_.threads.size());
    for (const InputStep& step : input_.steps) {
      if (!Contains(step.end_ns)) continue;
      const size_t thread = threads_.at(step.thread);
      InputThreadUse& use = use_.threads[thread];
      ++use.steps;
      use.step_ns += static_cast<double>(step.end_ns - step.start_ns);
      const auto wait = waited.find({step.thread, step.step});
      if (wait != waited.end()) waits_of[thread] += wait->second;
    }
    for (size_t t = 0; t < use_.threads.size(); ++t) {
      InputThreadUse& use = use_.threads[t];
      if (use.steps == 0) continue;
      const auto steps = static_cast<double>(use.steps);
      use.step_ns /= steps;
      use.work_ns = std::max(0.0, use.step_ns - static_cast<double>(waits_of[t]) / steps);
    }
    // A thread fills the queue that its enqueues wait for, or that its configuration names.
    std::set<std::pair<int, int>> fills;  // thread, queue
    for (const InputWait& wait : input_.waits) {
      if (wait.thread != kNoInputThread && IsEnqueue(wait.node)) fills.emplace(wait.thread, wait.queue);
    }
    for (const InputQueue& queue : input_.queues) {
      for (const InputThread& thread : input_.threads) {
        if (queue.name == "queue '" + thread.queue + "'") fills.emplace(thread.number, queue.number);
      }
    }
    for (const auto& [thread, queue] : fills) ++use_.queues[queues_.at(queue)].threads;
  }

  bool Contains(int64_t time) const {
    const auto after = std::ranges::upper_bound(windows_, time, {}, &Interval::start);
    return after != windows_.begin() && time <= std::prev(after)->end;
  }

  void AddFills() {
    std::map<int, std::vector<const QueueFill*>> points;
    for (const QueueFill& fill : input_.fills) points[fill.queue].push_back(&fill);
    const int64_t last = windows_.empty() ? 0 : windows_.back().end;
    for (const auto& [number, of_queue] : points) {
      double area = 0;
      int64_t covered = 0;
      for (size_t i = 0; i < of_queue.size(); ++i) {
        const int64_t until = i + 1 < of_queue.size() ? of_queue[i + 1]->time_ns : last;
        if (until <= of_queue[i]->time_ns) continue;
        const Interval stretch{of_queue[i]->time_ns, until};
        const int64_t ns = TotalLength(ClipTo(std::span(&stretch, 1), windows_));
        area += static_cast<double>(ns) * static_cast<double>(of_queue[i]->size);
        covered += ns;
      }
      if (covered > 0) use_.queues[queues_.at(number)].mean_fill = area / static_cast<double>(covered);
    }
  }

  const InputRecord& input_;
  const std::span<const Interval> windows_;
  InputUse use_;
  std::vector<int> enqueues_;
  std::map<int, size_t> queues_, threads_;  // by number
};

double ShareOf(int64_t ns, const InputUse& use) {
  return use.window_ns > 0 ? static_cast<double>(ns) / static_cast<double>(use.window_ns) : 0;
}

// The part that is at fault, or that none is.
std::string VerdictOf(const InputUse& use, const std::string& names) {
  const auto starved = std::ranges::max_element(use.queues, {}, &QueueUse::starved_ns);
  if (starved != use.queues.end() && use.wait_share() >= kNotable) {
    const bool none = starved->mean_fill >= 0 && starved->mean_fill < static_cast<double>(starved->kept) + 1;
    std::string text =
        fmt::format("{} {} for input {} of the step; {} {}", names, use.devices > 1 ? "wait" : "waits",
                    PercentText(use.wait_share(), 0), Printable(starved->name),
                    starved->name.starts_with("reader") ? "is busy" : "is empty");
    if (!none && starved->mean_fill >= 0)
      text += fmt::format(" then, and holds {:.3g} elements on average", starved->mean_fill);
    return text + ".";
  }
  const auto full = std::ranges::max_element(use.queues, {}, &QueueUse::full_ns);
  if (full != use.queues.end() && ShareOf(full->full_ns, use) >= kNotable) {
    return fmt::format("The input keeps up: {} is full {} of the step.", Printable(full->name),
                       PercentText(ShareOf(full->full_ns, use), 0));
  }
  return "The input keeps up.";
}

}  // namespace

std::optional<InputUse> FindInputUse(const InputRecord& input, std::span<const TraceNode> nodes,
                                     std::span<const DeviceIntervals> devices, const std::string& names,
                                     std::span<const Interval> windows) {
  if (windows.empty() || (input.waits.empty() && input.threads.empty())) return std::nullopt;
  InputUse use = UseFinder(input, nodes, windows).Find(devices);
  use.verdict = VerdictOf(use, names);
  return use;
}

std::string InputUseText(const InputUse& use, int width) {
  TextTable queues;
  queues.Name("Input")
      .Number("Capacity")
      .Number("Mean fill")
      .Number("Starved")
      .Number("Full")
      .Number("Threads");
  for (const QueueUse& queue : use.queues) {
    queues.Row({queue.name, queue.capacity < 0 ? "-" : std::to_string(queue.capacity),
                queue.mean_fill < 0 ? "-" : fmt::format("{:.1f}", queue.mean_fill),
                PercentText(ShareOf(queue.starved_ns, use)), PercentText(ShareOf(queue.full_ns, use)),
                queue.threads > 0 ? std::to_string(queue.threads) : "-"});
  }
  std::string text = "\n" + queues.Take(width);
  if (use.threads.empty()) return text;
  TextTable threads;
  threads.Name("Thread that runs")
      .Number("Steps")
      .Number("Avg")
      .Number("of it work")
      .Number("Waits")
      .Number("Blocked");
  for (const InputThreadUse& thread : use.threads) {
    threads.Row({thread.op, std::to_string(thread.steps), TimeText(thread.step_ns), TimeText(thread.work_ns),
                 PercentText(ShareOf(thread.waited_ns, use)), PercentText(ShareOf(thread.blocked_ns, use))});
  }
  return text + "\n" + threads.Take(width);
}

}  // namespace lanescope::traces
