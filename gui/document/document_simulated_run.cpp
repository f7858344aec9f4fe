#include <fmt/format.h>

#include <map>
#include <tuple>

#include "core/graph/signature.h"
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
    run_.kind = RunKind::kWhatIf;
    run_.machine_json = MachineToJson(machine_);
    run_.step_ns = prediction_.step_ns;
    run_.step_low_ns = prediction_.low_ns;
    run_.step_high_ns = prediction_.high_ns;
    run_.steps = {{0, 0, prediction_.step_ns}};
    AddDevices();
    run_.ops.resize(static_cast<size_t>(graph_.num_nodes()));
    for (int id = 0; id < graph_.num_nodes(); ++id) {
      OpEntry& op = run_.ops[static_cast<size_t>(id)];
      op.name = graph_.node(id).name;
      op.op = graph_.node(id).op;
      op.node = id;
    }
    run_.signatures = signatures_;
    AddCommands();
    int64_t left_out = 0;
    for (auto& [key, raw] : lanes_) run_.lanes.push_back(BuildLane(&raw, &left_out));
    AddMemory();
    for (int c = 0; c < static_cast<int>(schedule_.commands.size()); ++c) {
      for (const int to : schedule_.Successors(c)) edges->emplace_back(c, to);
    }
    return std::move(run_);
  }

 private:
  void AddDevices() {
    for (int d = 0; d < machine_.num_devices(); ++d) {
      const DeviceSpec& from = machine_.device(d);
      RunDevice device;
      device.id = d;
      device.label = from.local_name();
      device.full_name = from.name;
      device.kind = std::string(DeviceKindName(from.kind));
      device.is_host = !from.is_gpu();
      device.memory_limit = from.memory_bytes;
      device.peak_bytes = schedule_.peak_bytes[static_cast<size_t>(d)];
      run_.devices.push_back(std::move(device));
    }
  }

  void AddCommands() {
    for (const Queue& queue : schedule_.queues) run_.queues.push_back({queue.in_order});
    run_.commands.reserve(schedule_.commands.size());
    for (size_t c = 0; c < schedule_.commands.size(); ++c) {
      const Command& from = schedule_.commands[c];
      const Queue& queue = schedule_.queues[from.queue];
      RunCommand command;
      command.kind = from.kind;
      command.id = static_cast<int>(c);
      command.queue = from.queue.number();
      command.op = from.node;
      command.device = queue.device;
      command.bytes = from.bytes;
      const sims::CommandTime& time = prediction_.simulation.times[c];
      const RawSlice slice{time.start_ns, time.end_ns, from.node, static_cast<int32_t>(c), 0};
      if (from.kind == CommandKind::kCopy) {
        command.signature = CopySignature(from);
        command.src = schedule_.CopySource(from);
        command.dst = schedule_.CopyDestination(from);
        const bool in = command.dst == queue.device && command.src != queue.device;
        Add(in ? LaneRole::kCopyIn : LaneRole::kCopyOut, queue.device, -1, slice, from.bytes);
        if (command.src != command.dst) Add(LaneRole::kLink, command.src, command.dst, slice, from.bytes);
      } else if (from.kind == CommandKind::kLaunch) {
        command.signature = from.node;
        Add(LaneRole::kCompute, queue.device, -1, slice, -1);
      }
      run_.commands.push_back(command);
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
        lane.label = machine_.device(device).local_name() + " → " + machine_.device(peer).local_name();
      lane.pieces.emplace_back();
    }
    lane.pieces.front().slices.push_back(slice);
    if (bytes >= 0) lane.pieces.front().bytes.push_back(bytes);
  }

  void AddMemory() {
    std::vector<std::pair<int64_t, int64_t>> times;
    times.reserve(schedule_.commands.size());
    for (const sims::CommandTime& time : prediction_.simulation.times)
      times.emplace_back(time.start_ns, time.end_ns);
    std::map<int, std::vector<std::pair<int64_t, int64_t>>> points;
    for (const traces::MemoryPoint& point : traces::MemoryUse(schedule_).Timeline(times)) {
      points[point.device].emplace_back(point.time_ns, point.bytes);
    }
    for (auto& [device, values] : points) {
      Lane lane = BuildCounterLane(device, std::move(values));
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
