// SPDX-License-Identifier: Apache-2.0
#include "study/predict/recorded_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/machine/gpu_facts.h"
#include "core/machine/named_cluster.h"
#include "core/record/event.h"
#include "core/record/run_info.h"
#include "core/schedule/schedule.h"
#include "sims/plans/memory.h"
#include "sims/plans/timeline.h"
#include "traces/record/trace_writer.h"

namespace lanescope::study {
namespace {

namespace plans = sims::plans;

int64_t Bytes(double bytes) { return static_cast<int64_t>(std::min(bytes, 0x1p62)); }

// The slices of a timeline in the terms of a run: nodes for what they are, commands on queues, events.
class StepOfPlan {
 public:
  StepOfPlan(const RecordedPlan& step, const plans::PlanTimeline& timeline) : timeline_(timeline) {
    MakeMachine(step);
    first_.push_back(0);
    for (size_t s = 0; s < timeline.stages.size(); ++s) AddStage(static_cast<int>(s));
    MakeDependencies();
    placement_.priority = {};
    const auto memory = plans::MemoryByStage(step.model, step.plan, step.global_batch, step.sequence);
    schedule_.peak_bytes.assign(machine_.devices.size(), 0);
    for (size_t s = 0; s < memory.size(); ++s)
      schedule_.peak_bytes[GpuOf(static_cast<int>(s))] = Bytes(memory[s].bytes());
    events_.push_back({.start_ns = 0, .end_ns = timeline.step_ns, .kind = EventKind::kStep});
  }

  const Graph& graph() const { return graph_; }
  const Machine& machine() const { return machine_; }
  const Placement& placement() const { return placement_; }
  const Schedule& schedule() const { return schedule_; }
  const std::vector<Event>& events() const { return events_; }

 private:
  static DeviceId GpuOf(int stage) { return DeviceId(stage); }

  // A GPU of each stage under the number of its rank.
  void MakeMachine(const RecordedPlan& step) {
    machine_.name = step.machine.name;
    DeviceSpec gpu = ClusterOf(step.machine.name).gpu->device;
    gpu.kind = DeviceKind::kModelled;
    for (const plans::StageSlices& stage : timeline_.stages) {
      const std::string local = fmt::format("GPU:{}", stage.rank);
      ParseDeviceName(fmt::format("{}/device:{}", kLocalTask, local), &gpu.parsed);
      gpu.name = fmt::format("stage {}: {}", machine_.devices.size(), local);
      machine_.devices.Add(gpu);
    }
  }

  // Slices of one name on a stage are of one node.
  NodeId NodeOf(int stage, const plans::PlanSlice& slice) {
    std::string name = fmt::format("stage {}/{}", stage, plans::SliceName(timeline_, slice));
    const NodeId known = graph_.FindNode(name);
    if (known.exists()) return known;
    Node node;
    node.name = std::move(name);
    node.op = plans::SliceOp(timeline_, slice);
    placement_.device.Add(GpuOf(stage));
    return graph_.AddNode(std::move(node));
  }

  void AddStage(int stage) {
    constexpr std::pair<const char*, bool> kQueues[] = {
        {"work", true}, {"collectives beside work", false}, {"waits", false}};
    const QueueId first = schedule_.queues.next_id();
    const plans::StageSlices& slices = timeline_.stages[static_cast<size_t>(stage)];
    for (const auto& [name, in_order] : kQueues) {
      schedule_.queues.Add({.device = GpuOf(stage),
                            .in_order = in_order,
                            .name = fmt::format("GPU:{} {}", slices.rank, name)});
    }
    for (const plans::PlanSlice& slice : slices.slices) {
      const CommandId id = schedule_.commands.next_id();
      Command command;
      command.queue = QueueId(first.number() + static_cast<int>(plans::LaneOf(slice.kind)));
      command.node = NodeOf(stage, slice);
      command.rank = id.number();
      schedule_.commands.Add(command);
      events_.push_back({.start_ns = slice.start_ns, .end_ns = slice.end_ns, .command = id});
    }
    first_.push_back(schedule_.commands.size());
  }

  CommandId At(const plans::SlicePlace& place) const {
    return CommandId(first_[static_cast<size_t>(place.stage)] + place.slice);
  }
  void MakeDependencies() {
    const size_t count = schedule_.commands.size();
    schedule_.num_predecessors.assign(count, 0);
    schedule_.successors = MakeRows<CommandId, CommandId>(count, [&](const auto& add) {
      for (const auto& [waiting, ended] : timeline_.waits) add(At(ended), At(waiting));
    });
    for (const auto& [waiting, ended] : timeline_.waits) ++schedule_.num_predecessors[At(waiting)];
  }

  const plans::PlanTimeline& timeline_;
  Graph graph_;
  Machine machine_;
  Placement placement_;
  Schedule schedule_;
  std::vector<size_t> first_;  // command of each stage
  std::vector<Event> events_;
};

}  // namespace

int RecordPlan(const std::string& path, const RecordedPlan& asked, const Cancellation* cancellation) {
  const plans::PlanTimeline timeline =
      plans::TimelineOf(asked.model, asked.plan, asked.machine, asked.global_batch, asked.sequence);
  const StepOfPlan step(asked, timeline);
  if (cancellation != nullptr) cancellation->Check();
  RunInfo info;
  info.simulated = true;
  info.strategy = plans::PlanText(asked.plan);
  info.graph_name = asked.model.name;
  info.prediction_of = "laws of measured kernels and collectives";
  info.graph = &step.graph();
  info.machine = &step.machine();
  info.placement = &step.placement();
  traces::TraceWriter writer(path, traces::NewTrace::kWhenClosed);
  const int run = writer.BeginRun(info);
  writer.AddSchedule(run, step.schedule());
  writer.Sink(run)->Consume(step.events());
  writer.EndRun(run, {});
  writer.Close();
  return run;
}

}  // namespace lanescope::study
