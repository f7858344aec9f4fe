// SPDX-License-Identifier: Apache-2.0
#include "sims/cost/thread_steps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/statistics.h"

namespace lanescope::sims {
namespace {

constexpr size_t kEnoughSteps = 20;  // that nothing crowded, to go by these alone

std::vector<Interval> StepsOfRun(std::span<const Event> events) {
  std::vector<Interval> steps;
  for (const Event& event : events) {
    if (event.kind == EventKind::kStep) steps.push_back({event.start_ns, event.end_ns});
  }
  return UnionOf(std::move(steps));
}

std::vector<Interval> LaunchesOf(const InputRun& run) {
  std::vector<Interval> launches;
  for (const Event& event : run.events) {
    if (event.kind == EventKind::kCommand && run.takes_core(event.command))
      launches.push_back({event.start_ns, event.end_ns});
  }
  return launches;
}

std::vector<StepWork> StepsOf(const ThreadWork& thread, const SharedCores& cores) {
  std::vector<StepWork> steps;
  auto stretch = thread.working.begin();
  // The first may have begun before anything was counted.
  for (size_t i = 1; i < thread.ends.size(); ++i) {
    const int64_t from = thread.ends[i - 1], until = thread.ends[i];
    while (stretch != thread.working.end() && stretch->end <= from) ++stretch;
    StepWork step;
    for (auto part = stretch; part != thread.working.end() && part->start < until; ++part) {
      const Interval own{std::max(part->start, from), std::min(part->end, until)};
      step.took += static_cast<double>(own.end - own.start);
      step.shared += cores.ThreadWork(own);
      step.crowded = step.crowded || cores.IsCrowded(own);
    }
    steps.push_back(step);
  }
  return steps;
}

void FindUsual(OpThreads* op) {
  std::vector<double> all, alone;
  for (const std::vector<StepWork>& steps : op->steps) {
    for (const StepWork& step : steps) {
      all.push_back(step.took);
      if (!step.crowded) alone.push_back(step.took);
    }
  }
  op->knows_alone = alone.size() >= kEnoughSteps;
  if (!all.empty()) op->usual = Median(op->knows_alone ? std::move(alone) : std::move(all));
}

}  // namespace

std::vector<Interval> WaitsOf(std::span<const InputWait> waits, int thread) {
  std::vector<Interval> stretches;
  for (const InputWait& wait : waits) {
    if (wait.thread == thread) stretches.push_back({wait.start_ns, wait.end_ns});
  }
  return UnionOf(std::move(stretches));
}

std::vector<ThreadWork> WorkOfThreads(const InputRun& run) {
  const InputRecord& input = run.input;
  const std::vector<Interval> steps = StepsOfRun(run.events);
  std::map<int, ThreadWork> threads;
  std::map<int, Interval> lives;
  std::map<int, std::vector<int64_t>> ends, counted;  // of all steps, and of those beside steps of the run
  for (const InputThread& thread : input.threads) threads[thread.number].op = thread.op;
  for (const InputStep& step : input.steps) {
    ++threads[step.thread].steps;
    ends[step.thread].push_back(step.end_ns);
    if (Contains(steps, step.end_ns)) counted[step.thread].push_back(step.end_ns);
    const auto [life, is_new] = lives.try_emplace(step.thread, Interval{step.start_ns, step.end_ns});
    life->second.start = std::min(life->second.start, step.start_ns);
    life->second.end = std::max(life->second.end, step.end_ns);
  }
  for (const InputWork& work : input.works) {
    if (!run.op_of_node(work.node).starts_with("ReaderRead")) continue;
    threads[work.thread].turns += work.count;
    threads[work.thread].exclusive_ns += work.ns;
  }
  std::vector<ThreadWork> result;
  for (auto& [number, thread] : threads) {
    if (thread.steps == 0) continue;
    thread.working = Without(std::span(&lives[number], 1), WaitsOf(input.waits, number));
    thread.ends = std::move(ends[number]);
    if (!counted[number].empty()) {
      thread.working = ClipTo(thread.working, steps);
      thread.ends = std::move(counted[number]);
    }
    thread.steps = static_cast<int64_t>(thread.ends.size());
    std::ranges::sort(thread.ends);
    result.push_back(std::move(thread));
  }
  return result;
}

SharedCores CoresOf(std::span<const ThreadWork> threads, const InputRun& run) {
  SharedCores shared(run.cores);
  shared.AddLaunches(LaunchesOf(run));
  for (const ThreadWork& thread : threads) shared.AddThread(thread.working);
  shared.Settle();
  return shared;
}

std::vector<OpThreads> ByOp(std::span<const ThreadWork> threads, const SharedCores& cores) {
  std::vector<OpThreads> ops;
  for (const ThreadWork& thread : threads) {
    std::vector<StepWork> steps = StepsOf(thread, cores);
    if (steps.empty()) continue;
    const auto found = std::ranges::find(ops, thread.op, &OpThreads::op);
    OpThreads& op = found == ops.end() ? ops.emplace_back() : *found;
    op.op = thread.op;
    op.works.push_back(&thread);
    op.steps.push_back(std::move(steps));
  }
  for (OpThreads& op : ops) FindUsual(&op);
  return ops;
}

SharedCores CoresOfSteps(std::span<const ThreadWork> threads, const InputRun& run) {
  SharedCores shared(run.cores);
  shared.AddLaunches(LaunchesOf(run));
  for (const OpThreads& op : ByOp(threads, CoresOf(threads, run))) {
    if (op.is_short()) continue;
    for (const ThreadWork* thread : op.works) shared.AddThread(thread->working);
  }
  shared.Settle();
  return shared;
}

}  // namespace lanescope::sims
