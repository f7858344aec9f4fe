// SPDX-License-Identifier: Apache-2.0
#include "gui/model/run_frame.h"

#include <algorithm>
#include <map>

#include "core/base/printable.h"

namespace lanescope::gui {
namespace {

void DescribeDevices(const traces::TraceRun& run, RunFrame* frame) {
  frame->hosts = traces::HostNumbers(run.devices);
  for (RunDevice& device : frame->data.devices) {
    const traces::TraceDevice* from = run.FindDevice(device.id);
    if (from == nullptr) {
      device = UnannouncedDevice(device.id);
      continue;
    }
    device.full_name = from->name;
    device.task = from->task;
    device.is_host = from->is_host;
    device.memory_limit = from->memory_limit;
    device.peak_bytes = from->planned_peak;
  }
}

void DescribeNodes(const traces::TraceRun& run, RunFrame* frame) {
  for (size_t i = 0; i < run.nodes.size(); ++i) {
    OpEntry& entry = frame->data.ops[i];
    entry.op = run.nodes[i].op;
    entry.node = run.nodes[i].id;
    frame->op_of_name.emplace(entry.name, static_cast<int>(i));
  }
}

void DescribeCommands(const traces::TraceRun& run, RunFrame* frame) {
  for (size_t i = 0; i < run.commands.size(); ++i) {
    const traces::TraceCommand& from = run.commands[i];
    RunCommand& command = frame->data.commands[i];
    command.schedule = from.schedule;
    command.id = from.id;
    command.bytes = from.bytes;
    const auto device = frame->numbers.devices.find(from.device);
    if (device != frame->numbers.devices.end()) command.device = device->second;
  }
}

// The name at the end of a path that may end as folders do.
std::string LastOf(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

std::string TitleOf(const traces::TraceRunInfo& info, bool ours, const std::string& path) {
  if (!ours) return LastOf(path);
  const std::string graph = info.graph.substr(0, info.graph.rfind('.'));
  std::string title = fmt::format("{}: {}", info.id, graph);
  if (!info.strategy.empty()) title += (graph.empty() ? "" : " ") + info.strategy;
  return title;
}

}  // namespace

RunFrame FrameOf(const traces::TraceRun& run, const std::string& path, const std::string& source, bool ours) {
  RunFrame frame;
  frame.ours = ours;
  traces::RunTables tables = traces::TablesOf(run);
  frame.data = BeginRun(tables.view);
  frame.numbers = std::move(tables.numbers);
  frame.edges = std::move(tables.dependencies);
  RunData& data = frame.data;
  const traces::TraceRunInfo& info = run.info;
  data.file = path;
  data.source = source;
  data.id = info.id;
  data.kind = info.simulated  ? RunKind::kSimulated
              : info.emulated ? RunKind::kEmulated
              : info.laid_out ? RunKind::kLaidOut
                              : RunKind::kHardware;
  data.foreign = !ours;
  data.emulated = info.emulated;
  data.complete = info.complete;
  data.in_sample = info.in_sample;
  data.oversubscribed = info.oversubscribed;
  data.uncalibrated = info.simulated && info.prediction_of == "uncalibrated";
  data.uncalibrated_share = info.uncalibrated_share;
  data.extrapolated_share = info.extrapolated_share;
  data.title = TitleOf(info, ours, source);
  data.graph = info.graph;
  data.strategy = info.strategy;
  data.prediction_of = info.prediction_of;
  data.error = info.error;
  data.machine_json = info.machine_json;
  data.tasks = run.tasks;
  data.dropped = run.dropped;
  data.invalid_rows = run.invalid_rows;
  DescribeDevices(run, &frame);
  DescribeNodes(run, &frame);
  DescribeCommands(run, &frame);
  for (const traces::TraceRank& rank : run.ranks)
    data.places.push_back(
        {rank.file, run.ranks.size() < 2 ? "" : traces::RankName(rank), Printable(rank.host)});
  for (const std::string& host : traces::HostsOf(run.ranks)) data.hosts.push_back(Printable(host));
  for (const traces::TraceProcess& process : run.processes)
    data.processes.push_back({process.global_pid, LastOf(Printable(run.Text(process.name))), process.rank});
  for (const traces::TraceStream& stream : run.streams)
    frame.stream_names[{stream.device, stream.stream}] = run.Text(stream.name);
  for (const traces::TraceDevice& device : run.devices) {
    const auto index = frame.numbers.devices.find(device.id);
    if (index != frame.numbers.devices.end())
      data.devices[static_cast<size_t>(index->second)].rank = device.owner;
  }
  if (data.steps.empty() && !run.ranges.empty()) {
    auto steps = std::make_shared<const traces::RangeSteps>(run);
    if (!steps->empty()) frame.range_steps = std::move(steps);
  }
  return frame;
}

std::vector<RawLane> ThreadLanes(const traces::TraceRun& run, RunFrame* frame) {
  std::map<int64_t, RawLane> lanes;
  std::map<int, int32_t> op_of_text;
  const auto op = [&](int text, std::string_view kind) {
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
    add(tid, {range.start_ns, range.end_ns, op(range.text, kRangeOp), -1, -1});
  }
  frame->data.calls.resize(run.api_calls.size());
  for (size_t i = 0; i < run.api_calls.size(); ++i) {
    const traces::TraceApiCall& call = run.api_calls[i];
    if (call.range >= 0)
      frame->data.calls[i].range = op(run.ranges[static_cast<size_t>(call.range)].text, kRangeOp);
    if (call.end_ns < call.start_ns) continue;
    add(call.global_tid,
        {call.start_ns, call.end_ns, op(call.name, kCallOp), -1, call.step, static_cast<int32_t>(i)});
  }
  if (!run.api_calls.empty()) frame->calls = std::make_shared<const traces::ApiCallIndex>(run.api_calls);
  // A profiler's own span around all of the trace says nothing that is worth a lane.
  std::erase_if(lanes, [](const auto& lane) {
    return traces::IsNoProcess(lane.first) && lane.second.pieces.front().slices.size() == 1;
  });
  std::map<int64_t, std::string> names;
  for (const traces::TraceThread& thread : run.threads) names[thread.global_tid] = run.Text(thread.name);
  std::vector<RawLane> result;
  for (auto& [tid, lane] : lanes) {
    lane.role = LaneRole::kThread;
    lane.thread = tid;
    lane.process = traces::GlobalPidOf(tid);
    const int64_t number = tid & 0xffffff;
    const std::string& name = names[tid];
    lane.label = number == 0 ? run.ProcessLabel(tid) : fmt::format("thread {}", number);
    if (number != 0 && !name.empty())
      lane.label = name.starts_with(lane.label) ? name : lane.label + " " + name;
    result.push_back(std::move(lane));
  }
  return result;
}

std::vector<RawLane> AnnotationLanes(const traces::TraceRun& run, RunFrame* frame) {
  std::map<std::pair<int, int>, RawLane> lanes;  // by device and stream
  std::map<int, int32_t> op_of_text;
  for (const traces::TraceDeviceRange& range : run.device_ranges) {
    const auto [op, is_new] = op_of_text.try_emplace(range.text, -1);
    if (is_new && range.text >= 0) {
      op->second = static_cast<int32_t>(frame->data.ops.size());
      OpEntry entry;
      entry.name = run.Text(range.text);
      entry.op = kRangeOp;
      frame->data.ops.push_back(std::move(entry));
    }
    RawLane& lane = lanes[{range.device, range.stream}];
    if (lane.pieces.empty()) lane.pieces.emplace_back();
    lane.pieces.front().slices.push_back({range.start_ns, range.end_ns, op->second, -1, -1});
  }
  std::vector<RawLane> result;
  for (auto& [place, lane] : lanes) {
    lane.role = LaneRole::kAnnotation;
    lane.device = frame->DeviceIndex(place.first);
    lane.label = frame->StreamLabel(place.first, place.second) + " annotations";
    result.push_back(std::move(lane));
  }
  return result;
}

std::vector<Lane> MemoryLanes(const traces::TraceRun& run, const RunFrame& frame) {
  std::map<int, std::vector<std::pair<int64_t, int64_t>>> points;
  for (const traces::TraceMemoryPoint& point : run.memory) {
    const auto device = frame.numbers.devices.find(point.device);
    if (device != frame.numbers.devices.end())
      points[device->second].emplace_back(point.time_ns, point.bytes);
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
