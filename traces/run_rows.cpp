#include "traces/run_rows.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/signature.h"
#include "traces/copy_class.h"
#include "traces/row_inserter.h"

namespace lanescope {
namespace {

// Numbers of ENUM_CUDA_MEM_KIND and ENUM_CUPTI_STREAM_TYPE.
constexpr int64_t kPageable = 0, kDeviceMemory = 2;
constexpr int64_t kNonBlocking = 2;

// What the compiler knows of a tensor, with the shape that this schedule gives it.
TensorInfo InfoOf(const RunInfo& info, const Schedule& compiled, Endpoint endpoint, int value) {
  TensorInfo result;
  if (info.info != nullptr && endpoint.node >= 0 && endpoint.output >= 0 &&
      static_cast<size_t>(endpoint.output) < info.info->outputs(endpoint.node).size()) {
    result = info.info->of(endpoint);
  }
  if (value < 0) return result;
  const Value& known = compiled.values[static_cast<size_t>(value)];
  if (result.dtype == DataType::kInvalid) result.dtype = known.dtype;
  if (!(result.shape == known.shape)) {
    result.shape = known.shape;
    result.value = nullptr;
  }
  if (result.value == nullptr) result.value = known.constant;
  return result;
}

// What one launch is to calibration: its signature and its work.
struct LaunchDescription {
  std::string signature;
  OpWork work;
};

LaunchDescription DescribeLaunch(const RunInfo& info, const Schedule& compiled, const Command& command) {
  const Node& node = info.graph->node(command.node);
  const std::span<const int> in = compiled.Inputs(command), out = compiled.Outputs(command);
  std::vector<TensorInfo> inputs, outputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    inputs.push_back(InfoOf(info, compiled, node.inputs[i], i < in.size() ? in[i] : -1));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    outputs.push_back(InfoOf(info, compiled, {command.node, static_cast<int>(i)}, out[i]));
  }
  return {OpSignature(node, inputs, outputs), WorkOf(node, inputs, outputs)};
}

CommandInfo DescribeCommand(const RunInfo& info, const std::vector<int>& devices, const Schedule& compiled,
                            const Command& command, StringTable& strings) {
  CommandInfo result;
  result.kind = command.kind;
  result.stream = command.queue;
  result.device = devices[static_cast<size_t>(compiled.queues[static_cast<size_t>(command.queue)].device)];
  if (command.is_work() && command.node >= 0 && info.graph != nullptr) {
    result.name = strings.Intern(info.graph->node(command.node).name);
    result.op = strings.Intern(info.graph->node(command.node).op);
  }
  if (command.kind == CommandKind::kCopy) {
    const int src = compiled.CopySource(command), dst = compiled.CopyDestination(command);
    const bool src_host = !info.machine->device(src).is_gpu();
    const bool dst_host = !info.machine->device(dst).is_gpu();
    result.src = devices[static_cast<size_t>(src)];
    result.dst = devices[static_cast<size_t>(dst)];
    result.copy_kind = CopyKindOf(ClassifyCopy(*info.machine, src, dst));
    result.src_kind = src_host ? kPageable : kDeviceMemory;
    result.dst_kind = dst_host ? kPageable : kDeviceMemory;
  }
  return result;
}

void InsertDevices(Database& database, int run, const Machine& machine, int64_t pid) {
  const std::vector<int> ids = TraceDeviceIds(machine);
  RowInserter rows(database, "LANESCOPE_DEVICE",
                   {"runId", "deviceId", "machineDevice", "name", "kind", "memoryLimit"});
  RowInserter contexts(database, "TARGET_INFO_CUDA_CONTEXT_INFO",
                       {"vmId", "processId", "deviceId", "contextId", "hwId"});
  RowInserter gpus(database, "TARGET_INFO_GPU",
                   {"vmId", "id", "name", "totalMemory", "memoryBandwidth", "cuDevice", "asyncEngines"});
  RowInserter cuda(database, "TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"});
  for (int i = 0; i < machine.num_devices(); ++i) {
    const DeviceSpec& device = machine.device(i);
    const int id = ids[static_cast<size_t>(i)];
    rows.Add({run, id, i, std::string_view(device.name), DeviceKindName(device.kind), device.memory_bytes});
    contexts.Add({run, pid, id, id + 1, id});
    if (!device.is_gpu()) continue;
    const std::string_view model = device.model.empty() ? std::string_view(device.name) : device.model;
    gpus.Add({int64_t{run} << 48, id, model, device.memory_bytes,
              static_cast<int64_t>(std::min(device.memory_bandwidth, 9e18)), device.physical,
              device.copy_engines});
    cuda.Add({id, id, pid});
  }
  for (RowInserter* inserter : {&rows, &contexts, &gpus, &cuda}) inserter->Flush();
}

void InsertNodes(Database& database, int run, const RunInfo& info, const std::vector<int>& ids) {
  RowInserter nodes(database, "LANESCOPE_NODE", {"runId", "nodeId", "name", "op"});
  for (int i = 0; i < info.graph->num_nodes(); ++i) {
    const Node& node = info.graph->node(i);
    nodes.Add({run, i, std::string_view(node.name), std::string_view(node.op)});
  }
  nodes.Flush();
  if (info.placement == nullptr) return;
  RowInserter placement(database, "LANESCOPE_PLACEMENT", {"runId", "nodeId", "deviceId", "priority"});
  const Placement& placed = *info.placement;
  for (size_t i = 0; i < placed.device.size(); ++i) {
    if (placed.device[i] < 0) continue;
    placement.Add({run, static_cast<int64_t>(i), ids[static_cast<size_t>(placed.device[i])],
                   i < placed.priority.size() ? placed.priority[i] : 0});
  }
  placement.Flush();
}

void InsertCommands(Database& database, StringTable& strings, int run, int schedule, const RunInfo& info,
                    const Schedule& compiled, const std::vector<CommandInfo>& described) {
  RowInserter rows(database, "LANESCOPE_COMMAND",
                   {"runId", "schedule", "commandId", "kind", "nodeId", "queue", "rank", "deviceId", "src",
                    "dst", "bytes", "flops", "signature"});
  for (size_t c = 0; c < described.size(); ++c) {
    const Command& command = compiled.commands[c];
    const CommandInfo& known = described[c];
    const bool copy = command.kind == CommandKind::kCopy;
    Cell signature;
    OpWork work;
    if (copy) {
      const Value& copied = compiled.values[static_cast<size_t>(compiled.Inputs(command)[0])];
      signature = strings.Intern(CopySignature(copied.dtype, copied.shape));
    }
    if (command.kind == CommandKind::kLaunch && command.node >= 0 && info.graph != nullptr) {
      LaunchDescription launch = DescribeLaunch(info, compiled, command);
      signature = strings.Intern(launch.signature);
      work = launch.work;
    }
    rows.Add({run, schedule, static_cast<int64_t>(c), CommandKindName(command.kind),
              command.node < 0 ? Cell() : Cell(command.node), command.queue, command.rank, known.device,
              copy ? Cell(known.src) : Cell(), copy ? Cell(known.dst) : Cell(),
              copy ? command.bytes : work.bytes, work.flops, signature});
  }
  rows.Flush();
}

void InsertQueues(Database& database, int run, int schedule, const std::vector<int>& devices,
                  const Schedule& compiled) {
  RowInserter rows(database, "LANESCOPE_QUEUE",
                   {"runId", "schedule", "queue", "deviceId", "kind", "inOrder", "workers", "name"});
  for (size_t q = 0; q < compiled.queues.size(); ++q) {
    const Queue& queue = compiled.queues[q];
    rows.Add({run, schedule, static_cast<int64_t>(q), devices[static_cast<size_t>(queue.device)],
              QueueKindName(queue.kind), queue.in_order ? 1 : 0, queue.workers,
              std::string_view(queue.name)});
  }
  rows.Flush();
}

void InsertDependencies(Database& database, int run, int schedule, const Schedule& compiled) {
  RowInserter rows(database, "LANESCOPE_DEPENDENCY", {"runId", "schedule", "fromCommand", "toCommand"});
  if (compiled.first_successor.size() <= compiled.commands.size()) return;
  for (int c = 0; c < static_cast<int>(compiled.commands.size()); ++c) {
    for (const int successor : compiled.Successors(c)) rows.Add({run, schedule, c, successor});
  }
  rows.Flush();
}

void InsertStreams(Database& database, int run, int64_t pid, const std::vector<int>& devices,
                   const Schedule& compiled) {
  RowInserter rows(database, "TARGET_INFO_CUDA_STREAM",
                   {"streamId", "hwId", "vmId", "processId", "contextId", "flag"});
  for (size_t q = 0; q < compiled.queues.size(); ++q) {
    const int device = devices[static_cast<size_t>(compiled.queues[q].device)];
    rows.Add({static_cast<int64_t>(q), device, run, pid, device + 1, kNonBlocking});
  }
  rows.Flush();
}

void RaisePlannedPeaks(Database& database, int run, const std::vector<int>& devices,
                       const Schedule& compiled) {
  Statement update(database,
                   "UPDATE LANESCOPE_DEVICE SET plannedPeakBytes = MAX(IFNULL(plannedPeakBytes, 0), ?) "
                   "WHERE runId = ? AND deviceId = ?");
  for (size_t i = 0; i < compiled.peak_bytes.size() && i < devices.size(); ++i) {
    update.BindInteger(1, compiled.peak_bytes[i]);
    update.BindInteger(2, run);
    update.BindInteger(3, devices[i]);
    update.Run();
  }
}

void InsertFileFacts(Database& database, const RunClock& clock, const RunInfo& info) {
  Statement start(
      database,
      "INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs, utcTime, localTime, systemClockNs) "
      "SELECT ?1, strftime('%Y-%m-%dT%H:%M:%S', ?1 / 1000000000, 'unixepoch'), "
      "strftime('%Y-%m-%dT%H:%M:%S', ?1 / 1000000000, 'unixepoch', 'localtime'), ?2 "
      "WHERE NOT EXISTS (SELECT 1 FROM TARGET_INFO_SESSION_START_TIME)");
  start.BindInteger(1, clock.utc_ns);
  start.BindInteger(2, clock.origin_ns);
  start.Run();
  if (database.QueryInteger("SELECT COUNT(*) FROM META_DATA_EXPORT") > 0) return;
  RowInserter written(database, "META_DATA_EXPORT", {"name", "value"});
  written.Add({"EXPORT_PRODUCT_NAME", "Lanescope"});
  written.Add({"EXPORT_SCHEMA_VERSION", "3.28.1"});
  written.Add({"EXPORT_SCHEMA_VERSION_MAJOR", "3"});
  written.Add({"EXPORT_SCHEMA_VERSION_MINOR", "28"});
  written.Add({"EXPORT_SCHEMA_VERSION_MICRO", "1"});
  written.Flush();
  RowInserter captured(database, "META_DATA_CAPTURE", {"name", "value"});
  captured.Add({"CAPTURE_EVENT_TYPE", "Cuda"});
  captured.Add({"DEVICE_DISPLAY_NAME", info.machine == nullptr ? "" : std::string_view(info.machine->name)});
  captured.Flush();
}

}  // namespace

std::vector<int> TraceDeviceIds(const Machine& machine) {
  std::vector<int> ids(machine.devices.size(), -1);
  int next = 0;
  for (const int gpu : machine.Gpus()) ids[static_cast<size_t>(gpu)] = next++;
  for (int& id : ids) {
    if (id < 0) id = next++;
  }
  return ids;
}

int InsertRun(Database& database, const RunInfo& info, const RunClock& clock, int64_t pid) {
  const int64_t run = database.QueryInteger("SELECT IFNULL(MAX(runId), 0) + 1 FROM LANESCOPE_RUN");
  if (run < 1 || run > kMaxRunId) {
    Throw(Code::kResourceExhausted, "{} holds {} runs, the most a trace can hold; write to another file",
          database.path(), kMaxRunId);
  }
  const int id = static_cast<int>(run);
  const std::string machine = info.machine == nullptr ? "" : MachineToJson(*info.machine);
  RowInserter runs(database, "LANESCOPE_RUN",
                   {"runId", "kind", "emulated", "strategy", "graph", "machine", "predictionOf", "inSample",
                    "clockOriginNs", "utcEpochNs"});
  runs.Add({id, info.simulated ? "simulated" : "measured", info.emulated ? 1 : 0,
            std::string_view(info.strategy), std::string_view(info.graph_name), std::string_view(machine),
            info.prediction_of.empty() ? Cell() : Cell(std::string_view(info.prediction_of)),
            info.in_sample ? 1 : 0, clock.origin_ns, clock.utc_ns});
  runs.Flush();
  if (!info.cost_model.empty()) {
    RowInserter models(database, "LANESCOPE_COST_MODEL", {"runId", "costs"});
    models.Add({id, std::string_view(info.cost_model)});
    models.Flush();
  }
  RowInserter processes(database, "LANESCOPE_PROCESS", {"runId", "globalPid"});
  processes.Add({id, GlobalPid(id, pid)});
  processes.Flush();
  RowInserter names(database, "PROCESSES", {"globalPid", "pid", "name"});
  names.Add({GlobalPid(id, pid), pid, "lanescope"});
  names.Flush();
  InsertFileFacts(database, clock, info);
  if (info.machine != nullptr) InsertDevices(database, id, *info.machine, pid);
  if (info.graph != nullptr && info.machine != nullptr) {
    InsertNodes(database, id, info, TraceDeviceIds(*info.machine));
  }
  return id;
}

std::vector<CommandInfo> InsertSchedule(Database& database, StringTable& strings, int run, int64_t pid,
                                        const RunInfo& info, const std::vector<int>& devices, int schedule,
                                        const Schedule& compiled) {
  std::vector<CommandInfo> described;
  described.reserve(compiled.commands.size());
  for (const Command& command : compiled.commands) {
    described.push_back(DescribeCommand(info, devices, compiled, command, strings));
  }
  InsertCommands(database, strings, run, schedule, info, compiled, described);
  InsertQueues(database, run, schedule, devices, compiled);
  InsertDependencies(database, run, schedule, compiled);
  if (schedule == 0) InsertStreams(database, run, pid, devices, compiled);
  RaisePlannedPeaks(database, run, devices, compiled);
  return described;
}

}  // namespace lanescope
