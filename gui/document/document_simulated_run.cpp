// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <map>
#include <tuple>

#include "core/graph/signature.h"
#include "core/machine/tasks.h"
#include "core/runs/event_view.h"
#include "gui/document/document_whatif.h"
#include "gui/model/run_builder.h"
#include "traces/record/memory_timeline.h"

namespace lanescope::gui {
namespace {

// Turns one simulated step into lanes.
class SimulatedRunBuilder {
 public:
  SimulatedRunBuilder(const Graph& graph, const std::vector<std::string>& signatures, const Machine& machine,
                      const Schedule& schedule, const sims::Prediction& prediction)
      : graph_(graph),
        signatures_(signatures),
        machine_(machine),
        schedule_(schedule),
        prediction_(prediction) {}

  RunData Build(std::vector<std::pair<int, int>>* edges) {
    const RunView view =
        ViewOfEvents(&graph_, machine_, schedule_, sims::EventsOfStep(schedule_, prediction_.simulation));
    run_ = BeginRun(view);
    run_.kind = RunKind::kWhatIf;
    run_.machine_json = MachineToJson(machine_);
    run_.step_ns = prediction_.step_ns;
    run_.uncalibrated_share = prediction_.uncalibrated_share();
    run_.extrapolated_share = prediction_.extrapolated_share();
    run_.step_low_ns = prediction_.low_ns;
    run_.step_high_ns = prediction_.high_ns;
    run_.signatures = signatures_;
    DescribeDevices();
    for (const NodeId id : graph_.node_ids()) {
      OpEntry& op = run_.ops[id.index()];
      op.op = graph_.node(id).op;
      op.node = id.number();
    }
    DescribeCommands();
    for (const RunView::Lane& lane : view.lanes) AddSlices(*lane.slices);
    int64_t left_out = 0;
    for (auto& [key, raw] : lanes_) run_.lanes.push_back(BuildLane(&raw, &left_out));
    AddMemory();
    for (const CommandId c : schedule_.commands.ids()) {
      for (const CommandId to : schedule_.Successors(c)) edges->emplace_back(c.number(), to.number());
    }
    return std::move(run_);
  }

 private:
  void DescribeDevices() {
    for (const DeviceId d : machine_.devices.ids()) {
      const DeviceSpec& from = machine_.device(d);
      RunDevice& device = run_.devices[d.index()];
      device.full_name = from.name;
      device.is_host = !from.is_gpu();
      device.memory_limit = from.memory_bytes;
      device.peak_bytes = schedule_.peak_bytes[d];
    }
    const MachineTasks tasks = TasksOf(machine_);
    if (tasks.size() < 2) return;
    for (const std::string& name : tasks.names) run_.tasks.emplace_back().name = name;
    for (const DeviceId d : machine_.devices.ids()) run_.devices[d.index()].task = tasks.task_of[d];
  }

  void DescribeCommands() {
    for (const CommandId c : schedule_.commands.ids()) {
      const Command& from = schedule_.commands[c];
      RunCommand& command = run_.commands[c.index()];
      command.id = c.number();
      command.device = schedule_.queues[from.queue].device.number();
      command.bytes = from.bytes;
      if (from.kind == CommandKind::kCopy) command.signature = CopySignature(from);
      if (from.kind == CommandKind::kLaunch) command.signature = from.node.number();
    }
  }

  void AddSlices(const SliceColumns& slices) {
    for (size_t i = 0; i < slices.size(); ++i) {
      const RawSlice slice{slices.start_ns[i], slices.end_ns[i], slices.op[i], slices.command[i],
                           slices.step[i]};
      const RunCommand& command = run_.commands[static_cast<size_t>(slice.command)];
      if (command.kind == CommandKind::kLaunch) {
        Add(LaneRole::kCompute, command.device, -1, slice, -1);
        continue;
      }
      Add(CopyRole(command.device, command.src, command.dst), command.device, -1, slice, command.bytes);
      if (command.src != command.dst) Add(LaneRole::kLink, command.src, command.dst, slice, command.bytes);
    }
  }

  // Equal for equal dtypes and shapes, as in traces.
  int CopySignature(const Command& command) {
    const Value& value = schedule_.values[schedule_.operands[static_cast<size_t>(command.inputs)]];
    const auto [found, added] = copy_signatures_.try_emplace(
        lanescope::CopySignature(value.dtype, value.shape), static_cast<int>(run_.signatures.size()));
    if (added) run_.signatures.push_back(found->first);
    return found->second;
  }

  // `bytes` below 0: none.
  void Add(LaneRole role, int device, int peer, const RawSlice& slice, int64_t bytes) {
    RawLane& lane = lanes_[{role, device, peer}];
    if (lane.pieces.empty()) {
      lane.role = role;
      lane.device = device;
      lane.peer = peer;
      lane.label = std::string(LaneRoleName(role));
      if (peer >= 0)
        lane.label = machine_.device(DeviceId(device)).local_name() + " → " +
                     machine_.device(DeviceId(peer)).local_name();
      lane.pieces.emplace_back();
    }
    lane.pieces.front().slices.push_back(slice);
    if (bytes >= 0) lane.pieces.front().bytes.push_back(bytes);
  }

  void AddMemory() {
    IdVector<CommandId, std::pair<int64_t, int64_t>> times;
    times.reserve(schedule_.commands.size());
    for (const sims::CommandTime& time : prediction_.simulation.times)
      times.Add({time.start_ns, time.end_ns});
    std::map<DeviceId, std::vector<std::pair<int64_t, int64_t>>> points;
    for (const traces::MemoryPoint& point : traces::MemoryUse(schedule_).Timeline(times)) {
      points[point.device].emplace_back(point.time_ns, point.bytes);
    }
    for (auto& [device, values] : points) {
      Lane lane = BuildCounterLane(device.number(), std::move(values));
      lane.label = "memory";
      run_.lanes.push_back(std::move(lane));
    }
  }

  const Graph& graph_;
  const std::vector<std::string>& signatures_;
  const Machine& machine_;
  const Schedule& schedule_;
  const sims::Prediction& prediction_;
  RunData run_;
  std::map<std::tuple<LaneRole, int, int>, RawLane> lanes_;
  std::map<std::string, int> copy_signatures_;
};

}  // namespace

RunData RunOfSimulation(const Graph& graph, const std::vector<std::string>& signatures,
                        const Machine& machine, const Schedule& schedule, const sims::Prediction& prediction,
                        std::vector<std::pair<int, int>>* edges) {
  return SimulatedRunBuilder(graph, signatures, machine, schedule, prediction).Build(edges);
}

}  // namespace lanescope::gui
