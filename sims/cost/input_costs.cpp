// SPDX-License-Identifier: Apache-2.0
#include "sims/cost/input_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sims/cost/thread_steps.h"

namespace lanescope::sims {
namespace {

constexpr size_t kMostTimes = 512;  // that are kept of an op

// When several of the threads worked.
std::vector<Interval> Together(std::span<const ThreadWork* const> threads) {
  std::vector<std::pair<int64_t, int>> changes;
  for (const ThreadWork* thread : threads) {
    for (const Interval& stretch : thread->working) {
      changes.emplace_back(stretch.start, 1);
      changes.emplace_back(stretch.end, -1);
    }
  }
  std::ranges::sort(changes);
  std::vector<Interval> together;
  int working = 0;
  for (size_t i = 0; i + 1 < changes.size(); ++i) {
    working += changes[i].second;
    if (working >= 2 && changes[i + 1].first > changes[i].first)
      together.push_back({changes[i].first, changes[i + 1].first});
  }
  return UnionOf(std::move(together));
}

void FitTogether(std::span<const ThreadWork* const> threads, const SharedCores& cores, InputCost* cost) {
  const std::vector<Interval> windows = ClipTo(Together(threads), cores.Quiet());
  int64_t length = 0;
  for (const Interval& window : windows) length += window.end - window.start;
  for (const ThreadWork* thread : threads)
    cost->together_count +=
        std::ranges::count_if(thread->ends, [&](int64_t end) { return Contains(windows, end); });
  if (cost->together_count > 0) cost->together_ns = length / cost->together_count;
}

// As many of each list, so that none is long.
std::vector<int64_t> SomeOf(std::span<const std::vector<int64_t>> lists) {
  std::vector<int64_t> some;
  for (const std::vector<int64_t>& list : lists) {
    const size_t count = std::min(list.size(), kMostTimes / lists.size());
    some.insert(some.end(), list.end() - static_cast<std::ptrdiff_t>(count), list.end());
  }
  return some;
}

}  // namespace

const InputCost* InputCosts::Find(const std::string& op) const {
  const auto found = std::ranges::find(threads, op, &InputCost::op);
  return found == threads.end() ? nullptr : &*found;
}

int64_t InputCost::SerialNs() const {
  constexpr int64_t kFewEnds = 30;
  constexpr double kNotable = 1.15;
  const bool serial =
      together_count >= kFewEnds && static_cast<double>(together_ns) > kNotable * static_cast<double>(ns) / 2;
  return std::max(exclusive_ns, serial ? std::min(together_ns, ns) : 0);
}

bool TakesCore(const Schedule& schedule, const Machine& machine, CommandId command) {
  const Command& launch = schedule.commands[command];
  return launch.kind == CommandKind::kLaunch &&
         !machine.device(schedule.queues[launch.queue].device).is_hardware();
}

InputCosts FitInput(const InputRun& run) {
  const std::vector<ThreadWork> threads = WorkOfThreads(run);
  const SharedCores shared = CoresOf(threads, run);
  InputCosts costs;
  costs.cores = run.cores;
  for (const OpThreads& op : ByOp(threads, shared)) {
    InputCost& cost = costs.threads.emplace_back();
    cost.op = op.op;
    double took = 0, alone = 0, steps_alone = 0;
    std::vector<std::vector<int64_t>> times;
    for (const std::vector<StepWork>& steps : op.steps) {
      times.emplace_back();
      for (const StepWork& step : steps) {
        ++cost.count;
        took += step.took;
        if (step.crowded && op.is_short() && op.knows_alone) continue;
        const double crowded = op.is_short() ? std::min(step.took, op.usual) : step.shared;
        const double time = step.crowded ? crowded : step.took;
        alone += time;
        ++steps_alone;
        times.back().push_back(std::llround(time));
      }
    }
    cost.ns = std::llround(alone / std::max(1.0, steps_alone));
    double turns = 0, turns_ns = 0;
    for (const ThreadWork* thread : op.works) {
      turns += static_cast<double>(thread->turns);
      turns_ns += static_cast<double>(thread->exclusive_ns);
    }
    if (turns > 0 && took > 0) {
      const double share = static_cast<double>(cost.ns * cost.count) / took;
      cost.exclusive_ns = std::min(cost.ns, static_cast<int64_t>(std::llround(turns_ns / turns * share)));
    }
    cost.times = SomeOf(times);
    FitTogether(op.works, shared, &cost);
  }
  return costs;
}

void AddInputCosts(const InputCosts& from, InputCosts* to) {
  if (from.empty()) return;
  if (to->empty()) {
    *to = from;
    return;
  }
  const auto mean = [](double a, double b, double share) { return a * share + b * (1 - share); };
  for (const InputCost& other : from.threads) {
    const auto found = std::ranges::find(to->threads, other.op, &InputCost::op);
    if (found == to->threads.end()) {
      to->threads.push_back(other);
      continue;
    }
    const double mine = static_cast<double>(found->count) /
                        (static_cast<double>(found->count) + static_cast<double>(other.count));
    const auto both = [&](int64_t a, int64_t b) {
      return static_cast<int64_t>(std::llround(mean(static_cast<double>(a), static_cast<double>(b), mine)));
    };
    found->ns = both(found->ns, other.ns);
    found->exclusive_ns = std::min(found->ns, both(found->exclusive_ns, other.exclusive_ns));
    found->count += other.count;
    const int64_t ends = found->together_count + other.together_count;
    if (ends > 0)
      found->together_ns =
          std::llround(mean(static_cast<double>(found->together_ns), static_cast<double>(other.together_ns),
                            static_cast<double>(found->together_count) / static_cast<double>(ends)));
    found->together_count = ends;
    const std::vector<std::vector<int64_t>> lists = {std::move(found->times), other.times};
    found->times = SomeOf(lists);
  }
}

std::vector<Event> WithoutInput(const InputRun& run) {
  const std::vector<Interval> waiting = WaitsOf(run.input.waits, kNoInputThread);
  const std::vector<ThreadWork> threads = WorkOfThreads(run);
  std::vector<Event> result(run.events.begin(), run.events.end());
  if (waiting.empty() && threads.empty()) return result;
  const SharedCores shared = CoresOfSteps(threads, run);
  std::vector<Interval> commands;
  for (const Event& event : run.events) {
    if (event.kind == EventKind::kCommand) commands.push_back({event.start_ns, event.end_ns});
  }
  const std::vector<Interval> idle = Without(waiting, UnionOf(std::move(commands)));
  std::vector<double> before(idle.size() + 1, 0);  // idle time before each, as far as it counted
  for (size_t i = 0; i < idle.size(); ++i) before[i + 1] = before[i] + shared.StepWork(idle[i]);
  int64_t origin = std::numeric_limits<int64_t>::max();
  for (const Event& event : run.events) origin = std::min(origin, event.start_ns);
  const auto alone = [&](int64_t time) {
    const auto after = std::ranges::upper_bound(idle, time, {}, &Interval::start);
    const auto count = static_cast<size_t>(after - idle.begin());
    double taken = before[count];
    if (count > 0 && time < idle[count - 1].end) taken -= shared.StepWork({time, idle[count - 1].end});
    return origin + std::llround(shared.StepWork({origin, time}) - taken);
  };
  for (Event& event : result) {
    event.start_ns = alone(event.start_ns);
    event.end_ns = alone(event.end_ns);
  }
  return result;
}

}  // namespace lanescope::sims
