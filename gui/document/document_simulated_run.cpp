// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include "core/graph/signature.h"
#include "core/machine/tasks.h"
#include "gui/document/document_whatif.h"
#include "gui/model/run_builder.h"
#include "traces/record/memory_timeline.h"

namespace lanescope::gui {
namespace {

// Tensors of one dtype and shape have one signature.
struct TensorKind {
  DataType dtype;
  Shape shape;
  friend bool operator<(const TensorKind& a, const TensorKind& b) {
    if (a.dtype != b.dtype) return a.dtype < b.dtype;
    if (a.shape.rank() != b.shape.rank()) return a.shape.rank() < b.shape.rank();
    return std::ranges::lexicographical_compare(a.shape.dims(), b.shape.dims());
  }
};

// Turns one simulated step into lanes.
class SimulatedRunBuilder {
 public:
  SimulatedRunBuilder(const RunData& of_graph, const Machine& machine, const Schedule& schedule,
                      const sims::Prediction& prediction)
      : machine_(machine), schedule_(schedule), prediction_(prediction), run_(of_graph) {}

  RunData Build(std::vector<std::pair<int, int>>* edges) {
    run_.kind = RunKind::kWhatIf;
    run_.machine_json = MachineToJson(machine_);
    run_.step_ns = prediction_.step_ns;
    run_.uncalibrated_share = prediction_.uncalibrated_share();
    run_.extrapolated_share = prediction_.extrapolated_share();
    run_.step_low_ns = prediction_.low_ns;
    run_.step_high_ns = prediction_.high_ns;
    run_.steps.push_back({0, 0, prediction_.step_ns});
    DescribeDevices();
    for (const Queue& queue : schedule_.queues) run_.queues.push_back({queue.in_order});
    DescribeCommands();
    for (const CommandId c : schedule_.commands.ids()) {
      if (schedule_.commands[c].is_work() && !sims::RunsNothing(schedule_, c)) AddSlices(c);
    }
    int64_t left_out = 0;
    for (auto& [key, raw] : lanes_) run_.lanes.push_back(BuildLane(&raw, &left_out));
    AddMemory();
    edges->reserve(schedule_.successors.items.size());
    for (const CommandId c : schedule_.commands.ids()) {
      for (const CommandId to : schedule_.Successors(c)) edges->emplace_back(c.number(), to.number());
    }
    return std::move(run_);
  }

 private:
  void DescribeDevices() {
    for (const DeviceId d : machine_.devices.ids()) {
      const DeviceSpec& from = machine_.device(d);
      RunDevice& device = run_.devices.emplace_back();
      device.id = d.number();
      device.label = from.local_name();
      device.kind = DeviceKindName(from.kind);
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
    run_.commands.reserve(schedule_.commands.size());
    for (const CommandId c : schedule_.commands.ids()) {
      const Command& from = schedule_.commands[c];
      RunCommand& command = run_.commands.emplace_back();
      command.kind = from.kind;
      command.queue = from.queue.number();
      command.op = from.node.number();
      command.id = c.number();
      command.device = schedule_.queues[from.queue].device.number();
      command.bytes = from.bytes;
      if (from.kind == CommandKind::kLaunch) command.signature = from.node.number();
      if (from.kind != CommandKind::kCopy) continue;
      command.src = schedule_.CopySource(from).number();
      command.dst = schedule_.CopyDestination(from).number();
      command.signature = CopySignature(from);
    }
  }

  void AddSlices(CommandId number) {
    const RunCommand& command = run_.commands[number.index()];
    const sims::CommandTime& time = prediction_.simulation.times[number];
    const RawSlice slice{time.start_ns, time.end_ns, command.op, number.number(), 0};
    if (command.kind == CommandKind::kLaunch) {
      Add(LaneRole::kCompute, command.device, -1, slice, -1);
      return;
    }
    Add(CopyRole(command.device, command.src, command.dst), command.device, -1, slice, command.bytes);
    if (command.src != command.dst) Add(LaneRole::kLink, command.src, command.dst, slice, command.bytes);
  }

  // Equal for equal dtypes and shapes, as in traces.
  int CopySignature(const Command& command) {
    const Value& value = schedule_.values[schedule_.operands[static_cast<size_t>(command.inputs)]];
    const auto [found, added] =
        copy_signatures_.try_emplace({value.dtype, value.shape}, static_cast<int>(run_.signatures.size()));
    if (added) run_.signatures.push_back(lanescope::CopySignature(value.dtype, value.shape));
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

  const Machine& machine_;
  const Schedule& schedule_;
  const sims::Prediction& prediction_;
  RunData run_;
  std::map<std::tuple<LaneRole, int, int>, RawLane> lanes_;
  std::map<TensorKind, int> copy_signatures_;
};

}  // namespace

RunData RunOfGraph(const Graph& graph, std::vector<std::string> signatures) {
  RunData run;
  run.signatures = std::move(signatures);
  run.ops.reserve(graph.num_nodes());
  for (const NodeId id : graph.node_ids()) {
    OpEntry& op = run.ops.emplace_back();
    op.name = graph.node(id).name;
    op.op = graph.node(id).op;
    op.node = id.number();
  }
  IndexOps(&run);
  return run;
}

RunData RunOfSimulation(const RunData& of_graph, const Machine& machine, const Schedule& schedule,
                        const sims::Prediction& prediction, std::vector<std::pair<int, int>>* edges) {
  return SimulatedRunBuilder(of_graph, machine, schedule, prediction).Build(edges);
}

}  // namespace lanescope::gui
