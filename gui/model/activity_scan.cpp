// SPDX-License-Identifier: Apache-2.0
#include "gui/model/activity_scan.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "gui/model/activity_sinks.h"
#include "traces/read/activity_names.h"
#include "traces/store/lanescope_tables.h"
#include "traces/store/string_table.h"

namespace lanescope::gui {

std::string_view CopyTitle(CopyClass copy_class) {
  switch (copy_class) {
    case CopyClass::kDeviceToDevice:
      return "copy between devices";
    case CopyClass::kWithinDevice:
      return "copy within device";
    case CopyClass::kHostToDevice:
      return "copy to device";
    case CopyClass::kDeviceToHost:
      return "copy to host";
    case CopyClass::kHostToHost:
      return "copy within host";
  }
  return "copy";
}

namespace {

// Turns what the sinks collected into raw lanes with the ops' final numbers.
class LaneJoiner {
 public:
  LaneJoiner(std::vector<RunFrame>* frames, const std::unordered_map<int64_t, std::string>& texts)
      : frames_(*frames), texts_(texts), added_(frames->size()), lanes_(frames->size()) {}

  void Take(LaneSink* sink) {
    for (LaneSink::Part& part : sink->parts()) {
      for (size_t run = 0; run < frames_.size(); ++run) frames_[run].data.invalid_rows += part.invalid[run];
      for (auto& [key, pieces] : part.lanes) {
        std::vector<int32_t> ops(part.op_list.size(), kUnresolved);
        RawLane& lane = lanes_[static_cast<size_t>(key.run)][key];
        for (RawLane::Piece& piece : pieces) {
          for (RawSlice& slice : piece.slices) {
            if (slice.op >= -1) continue;
            const auto op = static_cast<size_t>(-2 - slice.op);
            if (ops[op] == kUnresolved) ops[op] = OpOf(key.run, part.op_list[op]);
            slice.op = ops[op];
          }
          for (int32_t& route : piece.routes) {
            if (route >= 0) route = RouteOf(key.run, part.route_list[static_cast<size_t>(route)]);
          }
          if (lane.process < 0) lane.process = piece.process;
          lane.pieces.push_back(std::move(piece));
        }
      }
      part = {};
    }
  }

  std::vector<std::vector<RawLane>> Finish() {
    std::vector<std::vector<RawLane>> result(frames_.size());
    for (size_t run = 0; run < frames_.size(); ++run) {
      if (frames_[run].range_steps != nullptr) FindStepsOfNeighbours(*frames_[run].range_steps, &lanes_[run]);
      for (auto& [key, lane] : lanes_[run]) {
        Describe(key, &lane);
        result[run].push_back(std::move(lane));
      }
      if (frames_[run].range_steps != nullptr)
        AddSteps(*frames_[run].range_steps, result[run], &frames_[run].data);
    }
    return result;
  }

 private:
  static constexpr int32_t kUnresolved = INT32_MIN;
  template <typename Visit>
  static void EachSlice(std::map<LaneKey, RawLane>* lanes, const Visit& visit) {
    for (auto& [key, lane] : *lanes) {
      for (RawLane::Piece& piece : lane.pieces) {
        for (RawSlice& slice : piece.slices) visit(key, piece, slice);
      }
    }
  }
  // Finds the steps of slices without a correlation id.
  static void FindStepsOfNeighbours(const traces::RangeSteps& steps, std::map<LaneKey, RawLane>* lanes) {
    bool unknown = false;
    EachSlice(lanes, [&](const LaneKey&, const RawLane::Piece&, const RawSlice& slice) {
      unknown = unknown || slice.step == traces::kStepOfNeighbours;
    });
    if (!unknown) return;
    std::vector<traces::StepPlace> places;
    EachSlice(lanes, [&](const LaneKey& key, const RawLane::Piece&, const RawSlice& slice) {
      places.push_back({key.device, key.stream, slice.start_ns, slice.step});
    });
    traces::ResolveSteps(&places);
    auto place = places.begin();
    EachSlice(lanes, [&](const LaneKey&, const RawLane::Piece& piece, RawSlice& slice) {
      slice.step = (place++)->step;
      if (slice.step == traces::kStepOfNeighbours)
        slice.step = steps.AtTime(std::max<int64_t>(0, piece.process), slice.start_ns);
    });
  }
  static void AddSteps(const traces::RangeSteps& steps, const std::vector<RawLane>& lanes, RunData* run) {
    traces::StepWindows windows = steps.Windows();
    for (const RawLane& lane : lanes) {
      for (const RawLane::Piece& piece : lane.pieces) {
        for (const RawSlice& slice : piece.slices) {
          windows.Add(slice.step, slice.start_ns, slice.end_ns);
        }
      }
    }
    for (const traces::TraceStep& step : steps.StepsOf(windows))
      run->steps.push_back({step.step, step.start_ns, step.end_ns});
  }
  int32_t RouteOf(int run, const LaneSink::CopyEnds& ends) {
    RunFrame& frame = frames_[static_cast<size_t>(run)];
    const auto [found, added] =
        routes_.try_emplace({run, ends}, static_cast<int32_t>(frame.data.routes.size()));
    if (added) {
      frame.data.routes.push_back(
          {frame.DeviceIndex(ends.src), frame.DeviceIndex(ends.dst), traces::NvprofCopyName(ends.kind)});
    }
    return found->second;
  }
  std::string TextOf(int64_t id) const {
    const auto found = texts_.find(id);
    return found == texts_.end() ? std::string() : found->second;
  }
  OpEntry EntryOf(const OpKey& key) const {
    OpEntry entry;
    switch (key.source) {
      case OpKey::Source::kKernel:
        entry.name = TextOf(key.name);
        entry.op = TextOf(key.brief);
        break;
      case OpKey::Source::kGraph:
        entry.name = traces::GraphName(key.name);
        entry.op = "Graph";
        break;
      case OpKey::Source::kCopy:
        entry.name = CopyTitle(static_cast<CopyClass>(key.name));
        entry.op = "Memcpy";
        break;
      case OpKey::Source::kMemset:
        entry.name = traces::kMemsetName;
        entry.op = "Memset";
        break;
    }
    return entry;
  }
  int32_t OpOf(int run, const OpKey& key) {
    auto& known = added_[static_cast<size_t>(run)];
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    RunFrame& frame = frames_[static_cast<size_t>(run)];
    OpEntry entry = EntryOf(key);
    const auto node = frame.op_of_name.find(entry.name);
    int32_t op = -1;
    if (node != frame.op_of_name.end()) {
      op = node->second;
    } else if (!entry.name.empty() || !entry.op.empty()) {
      op = static_cast<int32_t>(frame.data.ops.size());
      frame.data.ops.push_back(std::move(entry));
    }
    known.emplace(key, op);
    return op;
  }
  // Kernels of NCCL alone run in the lane.
  static bool MovesData(const RunData& run, const RawLane& lane) {
    bool moves = false;
    for (const RawLane::Piece& piece : lane.pieces) {
      for (const RawSlice& slice : piece.slices) {
        if (slice.op < 0) return false;
        const OpEntry& op = run.ops[static_cast<size_t>(slice.op)];
        if (op.op == "Memset") continue;
        if (!IsCommunication(op.name)) return false;
        moves = true;
      }
    }
    return moves;
  }
  void Describe(const LaneKey& key, RawLane* lane) {
    RunFrame& frame = frames_[static_cast<size_t>(key.run)];
    lane->role = key.role;
    lane->device = frame.DeviceIndex(key.device);
    if (key.role == LaneRole::kLink) {
      lane->peer = frame.DeviceIndex(key.peer);
      const auto& devices = frame.data.devices;
      lane->label = devices[static_cast<size_t>(lane->device)].label + " → " +
                    devices[static_cast<size_t>(lane->peer)].label;
      return;
    }
    lane->label = std::string(LaneRoleName(key.role));
    if (key.stream < 0) return;
    lane->label = frame.StreamLabel(key.device, key.stream);
    if (MovesData(frame.data, *lane)) lane->label += " (NCCL)";
  }

  std::vector<RunFrame>& frames_;
  const std::unordered_map<int64_t, std::string>& texts_;
  std::vector<std::map<OpKey, int32_t>> added_;    // by run
  std::vector<std::map<LaneKey, RawLane>> lanes_;  // by run
  std::map<std::pair<int, LaneSink::CopyEnds>, int32_t> routes_;
};

// Whether a trace of ours, or another tool's, has GPUs.
bool HasGpus(const RunFrame& frame) {
  return !frame.ours || std::ranges::any_of(frame.data.devices, [](const RunDevice& device) {
    return device.kind != "host" && device.kind != "virtual";
  });
}

}  // namespace

RunDevice UnannouncedDevice(int number) {
  RunDevice device;
  device.id = number;
  device.label = device.full_name = traces::DeviceLabel({}, number);
  device.is_host = number == traces::kHostDevice;
  device.kind = device.is_host ? "host" : "cuda";
  return device;
}

std::string RunFrame::StreamLabel(int device, int stream) const {
  const std::string plain = fmt::format("stream {}", stream);
  const auto named = stream_names.find({device, stream});
  std::string label = plain;
  if (named != stream_names.end() && !named->second.empty())
    label = named->second.starts_with(plain) ? named->second : plain + " " + named->second;
  const auto known = numbers.devices.find(device);
  const std::string owner = known == numbers.devices.end()
                                ? traces::DeviceLabel({}, device)
                                : data.devices[static_cast<size_t>(known->second)].label;
  return owner + " " + label;
}

int RunFrame::DeviceIndex(int number) {
  const auto [found, added] = numbers.devices.try_emplace(number, static_cast<int>(data.devices.size()));
  if (added) data.devices.push_back(UnannouncedDevice(number));
  return found->second;
}

std::vector<std::vector<RawLane>> ScanActivities(const std::string& path, std::vector<RunFrame>* frames,
                                                 const std::atomic<bool>* cancelled,
                                                 const ScanProgress& progress) {
  using traces::tables::kActivity, traces::tables::kKernel, traces::tables::kGraphTrace,
      traces::tables::kMemcpy, traces::tables::kMemset;
  const traces::Table* const all[] = {&kKernel, &kGraphTrace, &kMemcpy, &kMemset};
  traces::ParallelReader reader(path, 2);
  int64_t activities = 0;
  for (const traces::Table* table : all) activities += reader.EstimateRows(*table);
  const auto total = static_cast<double>(activities + reader.EstimateRows(kActivity) + 1);
  double done = 0;
  const auto watch = [&](const traces::Table& table, const char* doing) {
    const double before = std::exchange(done, done + static_cast<double>(reader.EstimateRows(table)));
    return traces::ReadWatch{cancelled, [&, before, share = done - before, doing](double fraction) {
                               if (progress) progress((before + fraction * share) / total, doing);
                             }};
  };

  std::vector<traces::WantedRun> runs;
  traces::Origins::Columns of_origins{false, false};
  traces::ActivityCursor::Columns columns;
  const bool ours = std::ranges::all_of(*frames, [](const RunFrame& frame) { return frame.ours; });
  for (const RunFrame& frame : *frames) {
    runs.push_back({frame.data.id, frame.hosts});
    of_origins.schedules = of_origins.schedules || !frame.numbers.commands.empty();
    of_origins.graph_nodes = of_origins.graph_nodes || HasGpus(frame);
  }
  const traces::RunFilter filter(runs, frames->size() == 1);
  const traces::Origins origins(
      &reader, filter,
      [frames](int run, int schedule, int command) {
        return (*frames)[static_cast<size_t>(run)].numbers.CommandIndex(schedule, command);
      },
      of_origins, watch(kActivity, "reading commands"));
  columns.correlations = std::ranges::any_of(
      *frames, [](const RunFrame& frame) { return frame.range_steps != nullptr || frame.calls != nullptr; });
  // Lanes of ranks stand apart, whether or not their calls are recorded.
  columns.processes = columns.correlations || std::ranges::any_of(*frames, [](const RunFrame& frame) {
                        return frame.data.places.size() > 1;
                      });
  columns.streams = !ours;
  columns.memory_kinds = of_origins.graph_nodes;
  // Else every activity has its command, which names it. A capture on a GPU also notes commands whose kernels
  // left no record, and has kernels of no command.
  columns.names = of_origins.graph_nodes || origins.size() < activities;

  const std::unordered_map<int64_t, std::string> texts = traces::ReadTexts(reader.database());
  LaneJoiner joiner(frames, texts);
  LaneSink sink(*frames, columns.names);
  traces::ActivityCursor cursor(&reader, runs, filter, ours, origins, columns);
  cursor.ReadKernels(&sink, watch(kKernel, "reading launches"));
  joiner.Take(&sink);
  cursor.ReadGraphs(&sink, watch(kGraphTrace, "reading launches of graphs"));
  joiner.Take(&sink);
  cursor.ReadCopies(&sink, watch(kMemcpy, "reading copies"));
  joiner.Take(&sink);
  cursor.ReadMemsets(&sink, watch(kMemset, "reading memory sets"));
  joiner.Take(&sink);
  return joiner.Finish();
}

}  // namespace lanescope::gui
