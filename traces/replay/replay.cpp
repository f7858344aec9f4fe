// SPDX-License-Identifier: Apache-2.0
#include "traces/replay/replay.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "traces/read/step_ranges.h"

namespace lanescope::traces {
namespace {

using Kind = ReplayTask::Kind;

class ReplayLoop {
 public:
  explicit ReplayLoop(const ReplayGraph& graph) : graph_(graph) {
    times_.start_ns.resize(graph.tasks.size());
    times_.end_ns.resize(graph.tasks.size());
    times_.works_ns.resize(graph.tasks.size());
    missing_.reserve(graph.collectives.size());
    for (const std::vector<int>& parts : graph.collectives) missing_.push_back(parts.size());
  }

  Replayed Run() {
    for (size_t i = 0; i < graph_.tasks.size(); ++i) {
      const ReplayTask& task = graph_.tasks[i];
      const int64_t start = StartOf(i);
      times_.start_ns[i] = times_.works_ns[i] = start;
      times_.end_ns[i] = start + task.ns;
      if (task.collective >= 0 && --missing_[static_cast<size_t>(task.collective)] == 0)
        Begin(graph_.collectives[static_cast<size_t>(task.collective)]);
    }
    return std::move(times_);
  }

 private:
  // A task that nothing holds up begins when it did.
  int64_t StartOf(size_t number) const {
    const ReplayTask& task = graph_.tasks[number];
    const auto holds = graph_.holds[static_cast<int>(number)];
    if (holds.empty()) return task.start_ns;
    int64_t start = graph_.begin_ns;
    for (const ReplayHold& hold : holds) {
      if (hold.from < 0) continue;
      const auto from = static_cast<size_t>(hold.from);
      const int64_t since =
          hold.why == ReplayHold::Why::kLaunch ? times_.start_ns[from] : times_.end_ns[from];
      start = std::max(start, since + hold.lag_ns);
    }
    return start;
  }

  void Begin(const std::vector<int>& parts) {
    int64_t begins = INT64_MIN;
    for (const int part : parts) begins = std::max(begins, times_.start_ns[static_cast<size_t>(part)]);
    for (const int part : parts) {
      const auto task = static_cast<size_t>(part);
      times_.works_ns[task] = begins;
      times_.end_ns[task] = begins + graph_.tasks[task].ns;
    }
  }

  const ReplayGraph& graph_;
  Replayed times_;
  std::vector<size_t> missing_;  // by collective: parts that have not begun
};

class ViewMaker {
 public:
  ViewMaker(const ReplayGraph& graph, const Replayed& times) : graph_(graph), times_(times) {}

  RunView Make() {
    for (const TraceDevice& device : graph_.devices) AddDevice(device.id);
    for (size_t q = 0; q < graph_.queues.size(); ++q) view_.queues.push_back({true});
    for (size_t i = 0; i < graph_.tasks.size(); ++i) AddTask(i);
    for (const TraceStep& step : StepsOf(graph_, times_))
      view_.steps.push_back({step.step, step.start_ns, step.end_ns, step.counts});
    view_.Settle(Dependencies());
    return std::move(view_);
  }

 private:
  int AddDevice(int id) {
    const auto [entry, is_new] = devices_.try_emplace(id, static_cast<int>(view_.devices.size()));
    if (is_new) view_.devices.push_back({id, DeviceLabel(graph_.devices, id)});
    return entry->second;
  }
  int OpOf(const ReplayTask& task) {
    const auto [entry, is_new] = ops_.try_emplace(task.name, static_cast<int>(view_.ops.size()));
    if (is_new) {
      const std::string_view name =
          task.name < 0 ? std::string_view("no name") : graph_.names[static_cast<size_t>(task.name)];
      view_.ops.push_back({name, task.kind == Kind::kCollective});
    }
    return entry->second;
  }

  void AddTask(size_t number) {
    const ReplayTask& task = graph_.tasks[number];
    const bool copy = task.kind == Kind::kCopy;
    const int device = AddDevice(graph_.queues[static_cast<size_t>(task.queue)].device);
    RunView::Command command{copy ? CommandKind::kCopy : CommandKind::kLaunch};
    command.queue = task.apart ? -1 : task.queue;
    command.op = OpOf(task);
    if (copy) {
      command.src = task.crosses ? AddDevice(kHostDevice) : device;
      command.dst = device;
    }
    view_.commands.push_back(command);
    // A task apart has a lane of its own, since those of no queue wait for each other in theirs.
    const int lane_key = task.apart ? -1 - static_cast<int>(number) : 2 * task.queue + (copy ? 1 : 0);
    const auto [lane, is_new] = lanes_.try_emplace(lane_key, nullptr);
    if (is_new) lane->second = view_.AddLane(device, copy);
    SliceColumns* slices = lane->second;
    // Its command still passes on what it waited for.
    if (task.gone) return;
    slices->start_ns.push_back(times_.works_ns[number]);
    slices->end_ns.push_back(std::max(times_.works_ns[number], times_.end_ns[number]));
    slices->op.push_back(command.op);
    slices->command.push_back(static_cast<int32_t>(number));
    slices->step.push_back(task.step);
  }

  // A collective waits for all that its parts wait for.
  std::vector<std::pair<int, int>> Dependencies() const {
    std::vector<std::pair<int, int>> edges;
    for (int task = 0; task < static_cast<int>(graph_.tasks.size()); ++task) {
      for (const ReplayHold& hold : graph_.holds[task]) {
        if (hold.from < 0) continue;
        const int collective = graph_.tasks[static_cast<size_t>(task)].collective;
        if (collective < 0) {
          edges.emplace_back(hold.from, task);
          continue;
        }
        for (const int part : graph_.collectives[static_cast<size_t>(collective)])
          edges.emplace_back(hold.from, part);
      }
    }
    return edges;
  }

  const ReplayGraph& graph_;
  const Replayed& times_;
  RunView view_;
  std::map<int, int> devices_;  // by the trace's number
  std::map<int, int> ops_;      // by name
  std::map<int, SliceColumns*> lanes_;
};

}  // namespace

Replayed Replay(const ReplayGraph& graph) { return ReplayLoop(graph).Run(); }

std::vector<TraceStep> StepsOf(const ReplayGraph& graph, const Replayed& replayed) {
  StepWindows windows;
  TraceStep whole{0, INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < graph.tasks.size(); ++i) {
    const ReplayTask& task = graph.tasks[i];
    if (task.opens_step) {
      if (graph.has_steps) windows.Add(task.step, replayed.start_ns[i], replayed.start_ns[i]);
      whole.start_ns = std::min(whole.start_ns, replayed.start_ns[i]);
    }
    if (!task.on_device() || task.gone) continue;
    if (graph.has_steps) windows.Add(task.step, replayed.start_ns[i], replayed.end_ns[i]);
    whole.start_ns = std::min(whole.start_ns, replayed.start_ns[i]);
    whole.end_ns = std::max(whole.end_ns, replayed.end_ns[i]);
  }
  if (!graph.has_steps)
    return {whole.start_ns <= whole.end_ns ? whole : TraceStep{0, graph.begin_ns, graph.begin_ns}};
  std::vector<TraceStep> steps = windows.Steps();
  for (TraceStep& step : steps) {
    const auto measured = std::ranges::find(graph.steps, step.step, &TraceStep::step);
    if (measured != graph.steps.end()) step.counts = measured->counts;
  }
  return steps;
}

RunView ViewOfReplay(const ReplayGraph& graph, const Replayed& replayed) {
  return ViewMaker(graph, replayed).Make();
}

}  // namespace lanescope::traces
