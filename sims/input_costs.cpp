#include "sims/input_costs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

namespace lanescope::sims {
namespace {

struct Stretch {
  int64_t start = 0, end = 0;
};

// Sorted, disjoint.
std::vector<Stretch> Joined(std::vector<Stretch> stretches) {
  std::ranges::sort(stretches, {}, &Stretch::start);
  std::vector<Stretch> joined;
  for (const Stretch& stretch : stretches) {
    if (joined.empty() || stretch.start > joined.back().end) {
      joined.push_back(stretch);
    } else {
      joined.back().end = std::max(joined.back().end, stretch.end);
    }
  }
  return joined;
}

// What of `from` is not in `taken`, both sorted and disjoint.
std::vector<Stretch> Without(std::span<const Stretch> from, std::span<const Stretch> taken) {
  std::vector<Stretch> left;
  size_t next = 0;
  for (const Stretch& stretch : from) {
    int64_t start = stretch.start;
    while (next < taken.size() && taken[next].end <= start) ++next;
    for (size_t i = next; i < taken.size() && taken[i].start < stretch.end; ++i) {
      if (taken[i].start > start) left.push_back({start, taken[i].start});
      start = std::max(start, taken[i].end);
    }
    if (start < stretch.end) left.push_back({start, stretch.end});
  }
  return left;
}

int64_t LengthOf(std::span<const Stretch> stretches) {
  int64_t length = 0;
  for (const Stretch& stretch : stretches) length += stretch.end - stretch.start;
  return length;
}

// How far work gets when it shares cores: the integral of its speed.
class SharedCores {
 public:
  void Add(std::span<const Stretch> working, double cores) {
    for (const Stretch& stretch : working) {
      changes_.emplace_back(stretch.start, cores);
      changes_.emplace_back(stretch.end, -cores);
    }
  }
  void Settle(int cores) {
    std::ranges::sort(changes_);
    double wanted = 0, done = 0;
    for (const auto& [time, change] : changes_) {
      if (!times_.empty()) done += Rate(wanted, cores) * static_cast<double>(time - times_.back());
      if (times_.empty() || time > times_.back()) {
        times_.push_back(time);
        done_.push_back(done);
        rates_.push_back(1);
      }
      wanted += change;
      rates_.back() = Rate(wanted, cores);
    }
  }
  double WorkIn(std::span<const Stretch> working) const {
    double work = 0;
    for (const Stretch& stretch : working) work += DoneAt(stretch.end) - DoneAt(stretch.start);
    return work;
  }

 private:
  static double Rate(double wanted, int cores) { return wanted > cores ? cores / wanted : 1; }
  double DoneAt(int64_t time) const {
    const auto after = std::ranges::upper_bound(times_, time);
    if (after == times_.begin()) return 0;
    const auto i = static_cast<size_t>(after - times_.begin() - 1);
    return done_[i] + rates_[i] * static_cast<double>(time - times_[i]);
  }

  std::vector<std::pair<int64_t, double>> changes_;
  std::vector<int64_t> times_;
  std::vector<double> done_, rates_;
};

std::vector<Stretch> WaitsOf(std::span<const InputWait> waits, int thread) {
  std::vector<Stretch> stretches;
  for (const InputWait& wait : waits) {
    if (wait.thread == thread) stretches.push_back({wait.start_ns, wait.end_ns});
  }
  return Joined(std::move(stretches));
}

// What lies in both, both sorted and disjoint.
std::vector<Stretch> Within(std::span<const Stretch> stretches, std::span<const Stretch> windows) {
  return Without(stretches, Without(stretches, windows));
}

bool Contains(std::span<const Stretch> windows, int64_t time) {
  const auto after = std::ranges::upper_bound(windows, time, {}, &Stretch::start);
  return after != windows.begin() && time <= std::prev(after)->end;
}

// A thread works from its first step to its last, but where it waits. What it does while no step of the run
// is recorded counts only where there is nothing else.
struct ThreadWork {
  std::string op;
  int64_t steps = 0;
  int64_t turns = 0, exclusive_ns = 0;
  std::vector<Stretch> working;
};

std::vector<ThreadWork> WorkOfThreads(const InputRecord& input, std::span<const Stretch> steps,
                                      const std::function<std::string(int node)>& op_of_node) {
  std::map<int, ThreadWork> threads;
  std::map<int, Stretch> lives;
  std::map<int, int64_t> counted;  // steps beside those of the run
  for (const InputThread& thread : input.threads) threads[thread.number].op = thread.op;
  for (const InputStep& step : input.steps) {
    ++threads[step.thread].steps;
    if (Contains(steps, step.end_ns)) ++counted[step.thread];
    const auto [life, is_new] = lives.try_emplace(step.thread, Stretch{step.start_ns, step.end_ns});
    life->second.start = std::min(life->second.start, step.start_ns);
    life->second.end = std::max(life->second.end, step.end_ns);
  }
  for (const InputWork& work : input.works) {
    if (!op_of_node(work.node).starts_with("ReaderRead")) continue;
    threads[work.thread].turns += work.count;
    threads[work.thread].exclusive_ns += work.ns;
  }
  std::vector<ThreadWork> result;
  for (auto& [number, thread] : threads) {
    if (thread.steps == 0) continue;
    thread.working = Without(std::span(&lives[number], 1), WaitsOf(input.waits, number));
    if (counted[number] > 0) {
      thread.working = Within(thread.working, steps);
      thread.steps = counted[number];
    }
    result.push_back(std::move(thread));
  }
  return result;
}

}  // namespace

const InputCost* InputCosts::Find(const std::string& op) const {
  const auto found = std::ranges::find(threads, op, &InputCost::op);
  return found == threads.end() ? nullptr : &*found;
}

InputCosts FitInput(const InputRecord& input, std::span<const Event> events, int cores,
                    const std::function<std::string(int node)>& op_of_node) {
  std::vector<Stretch> steps;
  int64_t busy = 0;
  for (const Event& event : events) {
    if (event.kind == EventKind::kStep) {
      steps.push_back({event.start_ns, event.end_ns});
    } else if (event.bytes == 0) {  // a launch
      busy += event.end_ns - event.start_ns;
    }
  }
  steps = Joined(std::move(steps));
  const std::vector<ThreadWork> threads = WorkOfThreads(input, steps, op_of_node);
  const auto working = Without(steps, WaitsOf(input.waits, kNoInputThread));
  const int64_t length = LengthOf(working);
  SharedCores shared;
  if (length > 0) shared.Add(working, static_cast<double>(busy) / static_cast<double>(length));
  for (const ThreadWork& thread : threads) shared.Add(thread.working, 1);
  shared.Settle(std::max(cores, 1));
  InputCosts costs;
  costs.cores = cores;
  if (length > 0) costs.step_factor = shared.WorkIn(working) / static_cast<double>(length);
  std::map<std::string, std::pair<double, double>> sums;  // by op: work, exclusive
  for (const ThreadWork& thread : threads) {
    const double alone = shared.WorkIn(thread.working);
    const auto found = std::ranges::find(costs.threads, thread.op, &InputCost::op);
    InputCost& cost = found == costs.threads.end() ? costs.threads.emplace_back() : *found;
    cost.op = thread.op;
    cost.count += thread.steps;
    const auto took = static_cast<double>(LengthOf(thread.working));
    auto& [work, exclusive] = sums[thread.op];
    work += alone;
    if (took > 0 && thread.turns > 0) {
      const double turn = static_cast<double>(thread.exclusive_ns) / static_cast<double>(thread.turns);
      exclusive += turn * static_cast<double>(thread.steps) * alone / took;
    }
  }
  for (InputCost& cost : costs.threads) {
    const auto& [work, exclusive] = sums[cost.op];
    cost.ns = std::llround(work / static_cast<double>(cost.count));
    cost.exclusive_ns =
        std::min(cost.ns, static_cast<int64_t>(std::llround(exclusive / static_cast<double>(cost.count))));
  }
  return costs;
}

std::vector<Event> WithoutWaits(std::span<const Event> events, std::span<const InputWait> waits) {
  const std::vector<Stretch> waiting = WaitsOf(waits, kNoInputThread);
  std::vector<Event> result(events.begin(), events.end());
  if (waiting.empty()) return result;
  std::vector<Stretch> commands;
  for (const Event& event : events) {
    if (event.kind == EventKind::kCommand) commands.push_back({event.start_ns, event.end_ns});
  }
  const std::vector<Stretch> idle = Without(waiting, Joined(std::move(commands)));
  std::vector<int64_t> before(idle.size() + 1, 0);  // idle time before each
  for (size_t i = 0; i < idle.size(); ++i) before[i + 1] = before[i] + idle[i].end - idle[i].start;
  const auto earlier = [&](int64_t time) {
    const auto after = std::ranges::upper_bound(idle, time, {}, &Stretch::start);
    const auto count = static_cast<size_t>(after - idle.begin());
    int64_t taken = before[count];
    if (count > 0 && time < idle[count - 1].end) taken -= idle[count - 1].end - time;
    return time - taken;
  };
  for (Event& event : result) {
    event.start_ns = earlier(event.start_ns);
    event.end_ns = earlier(event.end_ns);
  }
  return result;
}

}  // namespace lanescope::sims
