// SPDX-License-Identifier: Apache-2.0
#include "traces/record/run_rows.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/base/error.h"
#include "core/graph/signature.h"
#include "core/schedule/fused_cost.h"
#include "core/schedule/fusion.h"
#include "traces/store/copy_class.h"
#include "traces/store/lanescope_tables.h"
#include "traces/store/row_inserter.h"

namespace lanescope::traces {
namespace {

// Numbers of ENUM_CUDA_MEM_KIND and ENUM_CUPTI_STREAM_TYPE.
constexpr int64_t kPageable = 0, kDeviceMemory = 2;
constexpr int64_t kNonBlocking = 2;

// The compiler's facts of a tensor, with the shape that this schedule gives it.
TensorInfo InfoOf(const RunInfo& info, const Schedule& compiled, Endpoint endpoint, ValueId value) {
  TensorInfo result;
  if (info.info != nullptr && endpoint.node.exists() && endpoint.output >= 0 &&
      static_cast<size_t>(endpoint.output) < info.info->outputs(endpoint.node).size()) {
    result = info.info->of(endpoint);
  }
  if (!value.exists()) return result;
  const Value& known = compiled.values[value];
  if (result.dtype == DataType::kInvalid) result.dtype = known.dtype;
  if (!(result.shape == known.shape)) {
    result.shape = known.shape;
    result.value = nullptr;
  }
  if (result.value == nullptr) result.value = known.constant;
  return result;
}

// A launch as calibration sees it: its signature and its work.
struct LaunchDescription {
  std::string signature;
  OpWork work;
};

LaunchDescription DescribeLaunch(const RunInfo& info, const Schedule& compiled, const Command& command) {
  if (command.fused >= 0 && info.info != nullptr) {
    const FusedDescription fused = DescribeFused(*info.graph, *info.info, compiled, command);
    return {OpSignature(fused.node, fused.inputs, fused.outputs),
            WorkOf(fused.node, fused.inputs, fused.outputs)};
  }
  const Node& node = info.graph->node(command.node);
  const std::span<const ValueId> in = compiled.Inputs(command), out = compiled.Outputs(command);
  std::vector<TensorInfo> inputs, outputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    inputs.push_back(InfoOf(info, compiled, node.inputs[i], i < in.size() ? in[i] : ValueId()));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    outputs.push_back(InfoOf(info, compiled, {command.node, static_cast<int>(i)}, out[i]));
  }
  return {OpSignature(node, inputs, outputs), WorkOf(node, inputs, outputs)};
}

CommandInfo DescribeCommand(const RunInfo& info, const IdVector<DeviceId, int>& devices,
                            const Schedule& compiled, const Command& command, StringTable& strings) {
  CommandInfo result;
  result.kind = command.kind;
  result.stream = command.queue.number();
  result.device = devices[compiled.queues[command.queue].device];
  if (command.is_work() && command.node.exists() && info.graph != nullptr) {
    result.name = strings.Intern(LaunchName(*info.graph, compiled, command));
    result.op = strings.Intern(LaunchOp(*info.graph, compiled, command));
  }
  if (command.kind == CommandKind::kCopy) {
    const DeviceId src = compiled.CopySource(command), dst = compiled.CopyDestination(command);
    const bool src_host = !info.machine->device(src).is_gpu();
    const bool dst_host = !info.machine->device(dst).is_gpu();
    result.src = devices[src];
    result.dst = devices[dst];
    result.copy_kind = CopyKindOf(ClassifyCopy(*info.machine, src, dst));
    result.src_kind = src_host ? kPageable : kDeviceMemory;
    result.dst_kind = dst_host ? kPageable : kDeviceMemory;
  }
  return result;
}

void InsertDevices(Database& database, int run, const Machine& machine, int64_t pid) {
  const auto ids = TraceDeviceIds(machine);
  using tables::kCudaContext, tables::kCudaDevice, tables::kDevice, tables::kGpu;
  RowInserter rows(database, kDevice);
  RowInserter contexts(database, kCudaContext);
  RowInserter gpus(database, kGpu);
  RowInserter cuda(database, kCudaDevice);
  for (const DeviceId i : machine.devices.ids()) {
    const DeviceSpec& device = machine.device(i);
    const int id = ids[i];
    rows.Add({{kDevice.run, run},
              {kDevice.id, id},
              {kDevice.in_machine, i.number()},
              {kDevice.name, device.name},
              {kDevice.kind, DeviceKindName(device.kind)},
              {kDevice.memory_limit, device.memory_bytes}});
    contexts.Add({{kCudaContext.vm, run},
                  {kCudaContext.process, pid},
                  {kCudaContext.device, id},
                  {kCudaContext.context, id + 1},
                  {kCudaContext.hw, id}});
    if (!device.is_gpu()) continue;
    gpus.Add({{kGpu.vm, int64_t{run} << 48},
              {kGpu.id, id},
              {kGpu.name, device.model.empty() ? device.name : device.model},
              {kGpu.memory_bytes, device.memory_bytes},
              {kGpu.memory_bandwidth, static_cast<int64_t>(std::min(device.memory_bandwidth, 9e18))},
              {kGpu.cuda_device, device.physical},
              {kGpu.copy_engines, device.copy_engines}});
    cuda.Add({{kCudaDevice.gpu, id}, {kCudaDevice.cuda, id}, {kCudaDevice.pid, pid}});
  }
  for (PendingRows* inserter : std::initializer_list<PendingRows*>{&rows, &contexts, &gpus, &cuda}) {
    inserter->Flush();
  }
}

void InsertNodes(Database& database, int run, const RunInfo& info, const IdVector<DeviceId, int>& ids) {
  using tables::kNode, tables::kPlacement;
  RowInserter nodes(database, kNode);
  for (const NodeId i : info.graph->node_ids()) {
    const Node& node = info.graph->node(i);
    nodes.Add({{kNode.run, run}, {kNode.id, i.number()}, {kNode.name, node.name}, {kNode.op, node.op}});
  }
  nodes.Flush();
  if (info.placement == nullptr) return;
  RowInserter placement(database, kPlacement);
  const Placement& placed = *info.placement;
  for (const NodeId i : placed.device.ids()) {
    if (!placed.device[i].exists()) continue;
    placement.Add({{kPlacement.run, run},
                   {kPlacement.node, i.number()},
                   {kPlacement.device, ids[placed.device[i]]},
                   {kPlacement.priority, placed.priority.Contains(i) ? placed.priority[i] : 0}});
  }
  placement.Flush();
}

void InsertCommands(Database& database, StringTable& strings, int run, int schedule, const RunInfo& info,
                    const Schedule& compiled, const IdVector<CommandId, CommandInfo>& described) {
  using tables::kCommand;
  RowInserter rows(database, kCommand);
  for (const CommandId c : described.ids()) {
    const Command& command = compiled.commands[c];
    const CommandInfo& known = described[c];
    const bool copy = command.kind == CommandKind::kCopy;
    Cell signature;
    OpWork work;
    if (copy) {
      const Value& copied = compiled.values[compiled.Inputs(command)[0]];
      signature = strings.Intern(CopySignature(copied.dtype, copied.shape));
    }
    if (command.kind == CommandKind::kLaunch && command.node.exists() && info.graph != nullptr) {
      LaunchDescription launch = DescribeLaunch(info, compiled, command);
      signature = strings.Intern(launch.signature);
      work = launch.work;
    }
    rows.Add({{kCommand.run, run},
              {kCommand.schedule, schedule},
              {kCommand.id, c.number()},
              {kCommand.kind, CommandKindName(command.kind)},
              {kCommand.node, !command.node.exists() ? Cell() : Cell(command.node.number())},
              {kCommand.queue, command.queue.number()},
              {kCommand.rank, command.rank},
              {kCommand.device, known.device},
              {kCommand.src, copy ? Cell(known.src) : Cell()},
              {kCommand.dst, copy ? Cell(known.dst) : Cell()},
              {kCommand.bytes, copy ? command.bytes : work.bytes},
              {kCommand.flops, work.flops},
              {kCommand.signature, signature}});
  }
  rows.Flush();
}

void InsertQueues(Database& database, int run, int schedule, const IdVector<DeviceId, int>& devices,
                  const Schedule& compiled) {
  using tables::kQueue;
  RowInserter rows(database, kQueue);
  for (const QueueId q : compiled.queues.ids()) {
    const Queue& queue = compiled.queues[q];
    rows.Add({{kQueue.run, run},
              {kQueue.schedule, schedule},
              {kQueue.number, q.number()},
              {kQueue.device, devices[queue.device]},
              {kQueue.kind, QueueKindName(queue.kind)},
              {kQueue.in_order, queue.in_order},
              {kQueue.workers, queue.workers},
              {kQueue.name, queue.name}});
  }
  rows.Flush();
}

void InsertDependencies(Database& database, int run, int schedule, const Schedule& compiled) {
  using tables::kDependency;
  RowInserter rows(database, kDependency);
  if (compiled.successors.size() < compiled.commands.size()) return;
  for (const CommandId c : compiled.commands.ids()) {
    for (const CommandId successor : compiled.Successors(c)) {
      rows.Add({{kDependency.run, run},
                {kDependency.schedule, schedule},
                {kDependency.from, c.number()},
                {kDependency.to, successor.number()}});
    }
  }
  rows.Flush();
}

void InsertStreams(Database& database, int run, int64_t pid, const IdVector<DeviceId, int>& devices,
                   const Schedule& compiled) {
  using tables::kCudaStream;
  RowInserter rows(database, kCudaStream);
  for (const QueueId q : compiled.queues.ids()) {
    const int device = devices[compiled.queues[q].device];
    rows.Add({{kCudaStream.stream, q.number()},
              {kCudaStream.hw, device},
              {kCudaStream.vm, run},
              {kCudaStream.process, pid},
              {kCudaStream.context, device + 1},
              {kCudaStream.flag, kNonBlocking}});
  }
  rows.Flush();
}

void RaisePlannedPeaks(Database& database, int run, const IdVector<DeviceId, int>& devices,
                       const Schedule& compiled) {
  using tables::kDevice;
  Statement update(
      database,
      fmt::format("UPDATE {0} SET {1} = MAX(IFNULL({1}, 0), ?) WHERE {2} = ? AND {3} = ?", kDevice.sql_name(),
                  kDevice[kDevice.planned_peak].name, kDevice[kDevice.run].name, kDevice[kDevice.id].name));
  for (const DeviceId d : compiled.peak_bytes.ids()) {
    if (!devices.Contains(d)) break;
    update.BindInteger(1, compiled.peak_bytes[d]);
    update.BindInteger(2, run);
    update.BindInteger(3, devices[d]);
    update.Run();
  }
}

void InsertFileFacts(Database& database, const RunClock& clock, const RunInfo& info) {
  using tables::kCaptureMetaData, tables::kExportMetaData, tables::kSessionStart;
  Statement start(
      database,
      fmt::format("INSERT INTO {0} ({1}, {2}, {3}, {4}) "
                  "SELECT ?1, strftime('%Y-%m-%dT%H:%M:%S', ?1 / 1000000000, 'unixepoch'), "
                  "strftime('%Y-%m-%dT%H:%M:%S', ?1 / 1000000000, 'unixepoch', 'localtime'), ?2 "
                  "WHERE NOT EXISTS (SELECT 1 FROM {0})",
                  kSessionStart.sql_name(), kSessionStart[kSessionStart.utc_epoch].name,
                  kSessionStart[kSessionStart.utc_time].name, kSessionStart[kSessionStart.local_time].name,
                  kSessionStart[kSessionStart.system_clock].name));
  start.BindInteger(1, clock.utc_ns);
  start.BindInteger(2, clock.origin_ns);
  start.Run();
  if (database.QueryInteger(fmt::format("SELECT COUNT(*) FROM {}", kExportMetaData.sql_name())) > 0) return;
  RowInserter written(database, kExportMetaData);
  constexpr std::pair<std::string_view, std::string_view> kFacts[] = {{"EXPORT_PRODUCT_NAME", "Lanescope"},
                                                                      {"EXPORT_SCHEMA_VERSION", "3.28.1"},
                                                                      {"EXPORT_SCHEMA_VERSION_MAJOR", "3"},
                                                                      {"EXPORT_SCHEMA_VERSION_MINOR", "28"},
                                                                      {"EXPORT_SCHEMA_VERSION_MICRO", "1"}};
  for (const auto& [name, value] : kFacts) {
    written.Add({{kExportMetaData.name, name}, {kExportMetaData.value, value}});
  }
  written.Flush();
  RowInserter captured(database, kCaptureMetaData);
  captured.Add({{kCaptureMetaData.name, "CAPTURE_EVENT_TYPE"}, {kCaptureMetaData.value, "Cuda"}});
  captured.Add(
      {{kCaptureMetaData.name, "DEVICE_DISPLAY_NAME"},
       {kCaptureMetaData.value, info.machine == nullptr ? "" : std::string_view(info.machine->name)}});
  captured.Flush();
}

}  // namespace

int64_t ReserveCorrelationIds(Database& database, int64_t count) {
  using tables::kSchema;
  const int64_t first = database.QueryInteger(
      fmt::format("SELECT {} FROM {}", kSchema[kSchema.next_correlation].name, kSchema.sql_name()));
  UpdateRows(database, kSchema, {{kSchema.next_correlation, first + count}}, {});
  return first;
}

void InsertDropped(Database& database, int run, std::string_view what, int64_t count) {
  using tables::kDropped;
  if (count <= 0) return;
  InsertRow(database, kDropped, {{kDropped.run, run}, {kDropped.what, what}, {kDropped.count, count}});
}

IdVector<DeviceId, int> TraceDeviceIds(const Machine& machine) {
  IdVector<DeviceId, int> ids(machine.devices.size(), -1);
  int next = 0;
  for (const DeviceId gpu : machine.Gpus()) ids[gpu] = next++;
  for (int& id : ids) {
    if (id < 0) id = next++;
  }
  return ids;
}

int InsertRun(Database& database, const RunInfo& info, const RunClock& clock, int64_t pid) {
  using tables::kCostModel, tables::kPrediction, tables::kProcess, tables::kProcesses, tables::kRun;
  const int64_t run = database.QueryInteger(
      fmt::format("SELECT IFNULL(MAX({}), 0) + 1 FROM {}", kRun[kRun.id].name, kRun.sql_name()));
  if (run < 1 || run > kMaxRunId) {
    Throw(Code::kResourceExhausted, "{} holds {} runs, the most a trace can hold; write to another file",
          database.path(), kMaxRunId);
  }
  const int id = static_cast<int>(run);
  const std::string machine = info.machine == nullptr ? "" : MachineToJson(*info.machine);
  InsertRow(database, kRun,
            {{kRun.id, id},
             {kRun.kind, info.simulated ? "simulated" : "measured"},
             {kRun.emulated, info.emulated},
             {kRun.strategy, info.strategy},
             {kRun.graph, info.graph_name},
             {kRun.machine, machine},
             {kRun.prediction_of, info.prediction_of.empty() ? Cell() : Cell(info.prediction_of)},
             {kRun.in_sample, info.in_sample},
             {kRun.clock_origin, clock.origin_ns},
             {kRun.utc_epoch, clock.utc_ns}});
  if (!info.cost_model.empty()) {
    InsertRow(database, kCostModel, {{kCostModel.run, id}, {kCostModel.costs, info.cost_model}});
  }
  if (info.simulated) {
    const auto ppm = [](double share) { return std::llround(1e6 * share); };
    InsertRow(database, kPrediction,
              {{kPrediction.run, id},
               {kPrediction.uncalibrated, ppm(info.uncalibrated_share)},
               {kPrediction.extrapolated, ppm(info.extrapolated_share)}});
  }
  InsertRow(database, kProcess, {{kProcess.run, id}, {kProcess.global_pid, GlobalPid(id, pid)}});
  InsertRow(
      database, kProcesses,
      {{kProcesses.global_pid, GlobalPid(id, pid)}, {kProcesses.pid, pid}, {kProcesses.name, "lanescope"}});
  InsertFileFacts(database, clock, info);
  if (info.machine != nullptr) InsertDevices(database, id, *info.machine, pid);
  if (info.graph != nullptr && info.machine != nullptr) {
    InsertNodes(database, id, info, TraceDeviceIds(*info.machine));
  }
  return id;
}

IdVector<CommandId, CommandInfo> InsertSchedule(Database& database, StringTable& strings, int run,
                                                int64_t pid, const RunInfo& info,
                                                const IdVector<DeviceId, int>& devices, int schedule,
                                                const Schedule& compiled) {
  IdVector<CommandId, CommandInfo> described;
  described.reserve(compiled.commands.size());
  for (const Command& command : compiled.commands) {
    described.Add(DescribeCommand(info, devices, compiled, command, strings));
  }
  InsertCommands(database, strings, run, schedule, info, compiled, described);
  InsertQueues(database, run, schedule, devices, compiled);
  InsertDependencies(database, run, schedule, compiled);
  if (schedule == 0) InsertStreams(database, run, pid, devices, compiled);
  RaisePlannedPeaks(database, run, devices, compiled);
  return described;
}

}  // namespace lanescope::traces
