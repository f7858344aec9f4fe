// SPDX-License-Identifier: Apache-2.0
#include "study/measure/message_times.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/statistics.h"
#include "core/machine/copy_time.h"
#include "core/machine/tasks.h"
#include "core/schedule/cost.h"
#include "core/schedule/task_share.h"

namespace lanescope::study {
namespace {

constexpr int64_t kLongestNs = 20'000'000;
constexpr int kSignals = 4;
constexpr int kGpuHops = 4;
constexpr int kSmallHops = 8;
constexpr int64_t kSmallElements = 256;

class ChainMaker {
 public:
  static Chain MakeSmall(const MachineTasks& tasks) {
    ChainMaker maker;
    for (size_t other = 1; other < tasks.hosts.size(); ++other)
      maker.AddMessages(tasks.hosts[0], tasks.hosts[other], kSmallElements, kSmallHops);
    return std::move(maker.chain_);
  }
  static Chain Make(const Machine& machine, const MachineTasks& tasks) {
    ChainMaker maker;
    for (size_t other = 1; other < tasks.hosts.size(); ++other) {
      const Route route = machine.RouteBetween(tasks.hosts[0], tasks.hosts[other]);
      for (const int64_t elements :
           {kSmallElements, int64_t{16} << 10, int64_t{128} << 10, int64_t{1} << 20}) {
        if (CopyNs(machine, route, 4 * elements) <= kLongestNs)
          maker.AddMessages(tasks.hosts[0], tasks.hosts[other], elements, 2);
      }
      maker.AddSignals(tasks.hosts[0], tasks.hosts[other]);
      const DeviceId here = GpuOf(machine, tasks, 0), there = GpuOf(machine, tasks, static_cast<int>(other));
      if (here.exists() && there.exists()) maker.AddMessages(here, there, kSmallElements, kGpuHops);
    }
    return std::move(maker.chain_);
  }

 private:
  static DeviceId GpuOf(const Machine& machine, const MachineTasks& tasks, int task) {
    for (const DeviceId d : machine.devices.ids()) {
      if (tasks.task_of[d] == task && machine.device(d).kind == DeviceKind::kVirtual) return d;
    }
    return {};
  }

  NodeBuilder NewOp(const char* name) {
    return chain_.builder.Op("Neg", fmt::format("{}{}", name, chain_.builder.graph().num_nodes()));
  }

  // After all that there is.
  Endpoint NewTensor(DeviceId here, int64_t elements) {
    const Endpoint x = chain_.Feed(fmt::format("x{}", chain_.builder.graph().num_nodes()), elements, here);
    NodeBuilder out = NewOp("out");
    out.Input(x);
    if (last_.node.exists()) out.ControlInput(last_);
    return chain_.On(out.Build(), here);
  }

  // There and back, `hops` times in all.
  void AddMessages(DeviceId here, DeviceId there, int64_t elements, int hops) {
    last_ = NewTensor(here, elements);
    for (int hop = 0; hop < hops; ++hop)
      last_ = chain_.On(NewOp("hop").Input(last_).Build(), hop % 2 == 0 ? there : here);
  }

  // Each end has what it works on, and only waits for the other.
  void AddSignals(DeviceId here, DeviceId there) {
    const Endpoint own[] = {NewTensor(there, kSmallElements), NewTensor(here, kSmallElements)};
    last_ = own[1];
    for (int hop = 0; hop < kSignals; ++hop) {
      last_ = chain_.On(NewOp("told").Input(own[hop % 2]).ControlInput(last_).Build(),
                        hop % 2 == 0 ? there : here);
    }
  }

  Chain chain_;
  Endpoint last_;
};

struct MessageCount {
  int64_t messages = 0, bytes = 0;
};

// With those that carry nothing but that something has ended.
MessageCount CountMessages(const Machine& machine, const Schedule& schedule) {
  const MachineTasks tasks = TasksOf(machine);
  MessageCount count;
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    const TaskEnds ends = EndsOf(schedule, tasks, c);
    if (command.kind == CommandKind::kCopy && ends.from != ends.to) {
      ++count.messages;
      count.bytes += command.bytes;
    }
    for (const CommandId next : schedule.successors[c])
      count.messages += NeedsSignal(ends, EndsOf(schedule, tasks, next));
  }
  return count;
}

}  // namespace

std::unique_ptr<RecordedChain> MakeMessageChain(const Machine& machine, Job* job,
                                                Cancellation* cancellation) {
  if (!job->is_shared()) return nullptr;
  return std::make_unique<RecordedChain>("messages", ChainMaker::Make(machine, TasksOf(machine)), machine,
                                         job, cancellation);
}

std::unique_ptr<RecordedChain> MakeSmallMessageChain(const Machine& machine, Job* job,
                                                     Cancellation* cancellation) {
  if (!job->is_shared()) return nullptr;
  return std::make_unique<RecordedChain>("small messages", ChainMaker::MakeSmall(TasksOf(machine)), machine,
                                         job, cancellation);
}

MessageOverhead OverheadOfMessages(const Machine& machine, const ChainRun& small, const ChainRun& all) {
  if (small.schedule == nullptr || all.schedule == nullptr || small.messaging_ns.empty() ||
      all.messaging_ns.empty())
    return {};
  const MessageCount few = CountMessages(machine, *small.schedule),
                     many = CountMessages(machine, *all.schedule);
  if (few.messages == 0 || many.bytes == 0) return {};
  // The median step decides: what a hypervisor takes from a thread counts as its time.
  const auto of_step = [](const ChainRun& run) { return static_cast<double>(Median(run.messaging_ns)); };
  const double end_ns = of_step(small) / static_cast<double>(2 * few.messages);
  const double copying_ns = of_step(all) - end_ns * static_cast<double>(2 * many.messages);
  return {static_cast<int64_t>(end_ns), std::max(0.0, copying_ns / static_cast<double>(many.bytes))};
}

std::vector<exec::LinkTime> TimesOfMessages(const Machine& machine, const ChainRun& run) {
  if (run.schedule == nullptr) return {};
  std::map<std::tuple<DeviceId, DeviceId, int64_t>, std::vector<int64_t>> taken;
  const Schedule& schedule = *run.schedule;
  for (const Event& event : run.events) {
    if (event.kind != EventKind::kCommand || !event.command.exists()) continue;
    const Command& command = schedule.commands[event.command];
    if (command.kind != CommandKind::kCopy) continue;
    const DeviceId src = schedule.CopySource(command), dst = schedule.CopyDestination(command);
    if (IsMessage(machine, src, dst)) taken[{src, dst, event.bytes}].push_back(event.end_ns - event.start_ns);
  }
  std::vector<exec::LinkTime> times;
  for (auto& [key, ns] : taken)
    times.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), Median(std::move(ns))});
  return times;
}

bool IsMessage(const Machine& machine, DeviceId src, DeviceId dst) {
  return !IsSameAddressSpace(machine.device(src).parsed, machine.device(dst).parsed) &&
         !machine.device(src).is_gpu() && !machine.device(dst).is_gpu();
}

}  // namespace lanescope::study
