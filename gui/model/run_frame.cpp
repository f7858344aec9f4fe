#include "gui/model/run_frame.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"

namespace lanescope::gui {
namespace {

void AddDevices(const traces::TraceRun& run, RunFrame* frame) {
  frame->host = traces::kHostDevice;
  for (const traces::TraceDevice& from : run.devices) {
    RunDevice device;
    device.id = from.id;
    device.label = run.DeviceLabel(from.id);
    device.full_name = from.name;
    device.kind = from.kind;
    device.is_host = from.is_host;
    device.memory_limit = from.memory_limit;
    device.peak_bytes = from.planned_peak;
    frame->device_index.emplace(from.id, static_cast<int>(frame->data.devices.size()));
    if (from.is_host && frame->host == traces::kHostDevice) frame->host = from.id;
    frame->data.devices.push_back(std::move(device));
  }
}

// Index into ops by node id.
std::map<int, int> AddNodes(const traces::TraceRun& run, RunFrame* frame) {
  std::map<int, int> index;
  for (const traces::TraceNode& node : run.nodes) {
    const auto op = static_cast<int>(frame->data.ops.size());
    index.emplace(node.id, op);
    frame->op_of_name.emplace(node.name, op);
    OpEntry entry;
    entry.name = node.name;
    entry.op = node.op;
    entry.node = node.id;
    frame->data.ops.push_back(std::move(entry));
  }
  return index;
}

void AddCommands(const traces::TraceRun& run, const std::map<int, int>& op_of_node, RunFrame* frame) {
  const auto device = [&](int number) {
    const auto found = frame->device_index.find(number);
    return found == frame->device_index.end() ? -1 : found->second;
  };
  frame->data.queues_inferred = run.queues_inferred();
  std::map<std::pair<int, int>, int> queues;
  for (const traces::TraceQueue& queue : run.queues) {
    queues.emplace(std::pair(queue.schedule, queue.id), static_cast<int>(frame->data.queues.size()));
    frame->data.queues.push_back({queue.in_order});
  }
  std::map<int, int> signatures;  // by text
  bool positions = true;          // numbers are positions in the list
  for (size_t i = 0; i < run.commands.size(); ++i) {
    const traces::TraceCommand& from = run.commands[i];
    positions = positions && from.schedule == 0 && from.id == static_cast<int>(i);
    RunCommand command;
    command.kind = from.kind;
    const auto queue = queues.find({from.schedule, from.queue});
    if (queue != queues.end()) command.queue = queue->second;
    command.schedule = from.schedule;
    command.id = from.id;
    const auto op = op_of_node.find(from.node);
    if (op != op_of_node.end()) command.op = op->second;
    command.device = device(from.device);
    command.src = device(from.src);
    command.dst = device(from.dst);
    command.bytes = from.bytes;
    if (from.signature >= 0) {
      const auto [found, added] =
          signatures.try_emplace(from.signature, static_cast<int>(frame->data.signatures.size()));
      if (added) frame->data.signatures.push_back(run.Text(from.signature));
      command.signature = found->second;
    }
    frame->data.commands.push_back(command);
  }
  if (!positions) {
    for (size_t i = 0; i < run.commands.size(); ++i) {
      frame->commands.emplace(std::pair(run.commands[i].schedule, run.commands[i].id), static_cast<int>(i));
    }
  }
  for (const traces::TraceDependency& edge : run.dependencies) {
    const int from = frame->CommandIndex(edge.schedule, edge.from);
    const int to = frame->CommandIndex(edge.schedule, edge.to);
    if (from >= 0 && to >= 0) frame->edges.emplace_back(from, to);
  }
}

std::string TitleOf(const traces::TraceRunInfo& info, bool ours, const std::string& path) {
  if (!ours) return path.substr(path.rfind('/') + 1);
  const std::string graph = info.graph.substr(0, info.graph.rfind('.'));
  std::string title = fmt::format("{}: {}", info.id, graph);
  if (!info.strategy.empty()) title += (graph.empty() ? "" : " ") + info.strategy;
  return title;
}

}  // namespace

RunFrame FrameOf(const traces::TraceRun& run, const std::string& path, bool ours) {
  RunFrame frame;
  frame.ours = ours;
  RunData& data = frame.data;
  const traces::TraceRunInfo& info = run.info;
  data.file = path;
  data.id = info.id;
  data.kind = info.simulated ? RunKind::kSimulated : info.emulated ? RunKind::kEmulated : RunKind::kHardware;
  data.foreign = !ours;
  data.emulated = info.emulated;
  data.complete = info.complete;
  data.in_sample = info.in_sample;
  data.oversubscribed = info.oversubscribed;
  data.uncalibrated = info.simulated && info.prediction_of == "uncalibrated";
  data.title = TitleOf(info, ours, path);
  data.graph = info.graph;
  data.strategy = info.strategy;
  data.prediction_of = info.prediction_of;
  data.error = info.error;
  data.machine_json = info.machine_json;
  data.dropped = run.dropped;
  data.invalid_rows = run.invalid_rows;
  AddDevices(run, &frame);
  AddCommands(run, AddNodes(run, &frame), &frame);
  for (const traces::TraceStep& step : run.steps)
    data.steps.push_back({step.step, step.start_ns, step.end_ns});
  if (data.steps.empty() && !run.ranges.empty()) {
    auto steps = std::make_shared<const traces::RangeSteps>(run);
    if (!steps->empty()) frame.range_steps = std::move(steps);
  }
  return frame;
}

std::vector<RawLane> ThreadLanes(const traces::TraceRun& run, RunFrame* frame) {
  std::map<int64_t, RawLane> lanes;
  std::map<int, int32_t> op_of_text;
  const auto op = [&](int text, const char* kind) {
    const auto [found, added] = op_of_text.try_emplace(text, -1);
    if (added && text >= 0) {
      found->second = static_cast<int32_t>(frame->data.ops.size());
      OpEntry entry;
      entry.name = run.Text(text);
      entry.op = kind;
      frame->data.ops.push_back(std::move(entry));
    }
    return found->second;
  };
  const auto add = [&](int64_t tid, const RawSlice& slice) {
    RawLane& lane = lanes[tid];
    if (lane.pieces.empty()) lane.pieces.emplace_back();
    lane.pieces.front().slices.push_back(slice);
  };
  for (const traces::TraceRange& range : run.ranges) {
    if (range.end_ns < range.start_ns) continue;
    // A range of the process is in no thread's lane.
    const int64_t tid = range.process_wide ? traces::GlobalPidOf(range.global_tid) : range.global_tid;
    add(tid, {range.start_ns, range.end_ns, op(range.text, "range"), -1, -1});
  }
  for (const traces::TraceApiCall& call : run.api_calls) {
    if (call.end_ns < call.start_ns) continue;
    add(call.global_tid, {call.start_ns, call.end_ns, op(call.name, "call"), -1, call.step});
  }
  std::map<int64_t, std::string> names;
  for (const traces::TraceThread& thread : run.threads) names[thread.global_tid] = run.Text(thread.name);
  std::vector<RawLane> result;
  for (auto& [tid, lane] : lanes) {
    lane.role = LaneRole::kThread;
    const int64_t number = tid & 0xffffff;
    const std::string& name = names[tid];
    lane.label = number == 0 ? fmt::format("process {}", (tid >> 24) & 0xffffff)
                             : fmt::format("thread {}{}{}", number, name.empty() ? "" : " ", name);
    result.push_back(std::move(lane));
  }
  return result;
}

std::vector<Lane> MemoryLanes(const traces::TraceRun& run, const RunFrame& frame) {
  std::map<int, std::vector<std::pair<int64_t, int64_t>>> points;
  for (const traces::TraceMemoryPoint& point : run.memory) {
    const auto device = frame.device_index.find(point.device);
    if (device != frame.device_index.end()) points[device->second].emplace_back(point.time_ns, point.bytes);
  }
  std::vector<Lane> lanes;
  for (auto& [device, values] : points) {
    Lane lane = BuildCounterLane(device, std::move(values));
    lane.label = "memory";
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

}  // namespace lanescope::gui
