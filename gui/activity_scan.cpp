#include "gui/activity_scan.h"

#include "core/error.h"
#include "gui/activity_origins.h"
#include "gui/activity_sinks.h"
#include "traces/operation_sums.h"
#include "traces/trace_reader.h"

namespace lanescope::gui {
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
        std::vector<int32_t> ops(part.pair_list.size(), kUnresolved);
        RawLane& lane = lanes_[static_cast<size_t>(key.run)][key];
        for (RawLane::Piece& piece : pieces) {
          for (RawSlice& slice : piece.slices) {
            if (slice.op >= -1) continue;
            const auto pair = static_cast<size_t>(-2 - slice.op);
            if (ops[pair] == kUnresolved) ops[pair] = OpOf(key.run, part.pair_list[pair]);
            slice.op = ops[pair];
          }
          for (int32_t& route : piece.routes) {
            if (route >= 0) route = RouteOf(key.run, part.route_list[static_cast<size_t>(route)]);
          }
          lane.pieces.push_back(std::move(piece));
        }
      }
      part = {};
    }
  }

  std::vector<std::vector<RawLane>> Finish() {
    std::vector<std::vector<RawLane>> result(frames_.size());
    for (size_t run = 0; run < frames_.size(); ++run) {
      for (auto& [key, lane] : lanes_[run]) {
        Describe(key, &lane);
        result[run].push_back(std::move(lane));
      }
      if (frames_[run].range_steps != nullptr) AddSteps(result[run], &frames_[run].data);
    }
    return result;
  }

 private:
  static constexpr int32_t kUnresolved = INT32_MIN;
  static std::string CopyName(int64_t copy_class) {
    switch (static_cast<CopyClass>(copy_class)) {
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
  static void AddSteps(const std::vector<RawLane>& lanes, RunData* run) {
    StepWindows windows;
    for (const RawLane& lane : lanes) {
      for (const RawLane::Piece& piece : lane.pieces) {
        for (const RawSlice& slice : piece.slices) {
          if (slice.step >= 0) windows.Add(slice.step, slice.start_ns, slice.end_ns);
        }
      }
    }
    for (const TraceStep& step : windows.Steps())
      run->steps.push_back({step.step, step.start_ns, step.end_ns});
  }
  int32_t RouteOf(int run, const LaneSink::CopyEnds& ends) {
    RunFrame& frame = frames_[static_cast<size_t>(run)];
    const auto [found, added] =
        routes_.try_emplace({run, ends}, static_cast<int32_t>(frame.data.routes.size()));
    if (added) {
      frame.data.routes.push_back(
          {frame.DeviceIndex(ends.src), frame.DeviceIndex(ends.dst), NvprofCopyName(ends.kind)});
    }
    return found->second;
  }
  std::string TextOf(int64_t id) const {
    if (id == MemsetSink::kName) return std::string(kMemsetName);
    if (GraphSink::IsName(id)) return fmt::format("[CUDA graph {}]", GraphSink::GraphOf(id));
    if (id < 0 && id >= -kNumCopyClasses) return CopyName(-1 - id);
    const auto found = texts_.find(id);
    return found == texts_.end() ? std::string() : found->second;
  }
  int32_t OpOf(int run, const LaneSink::TextPair& pair) {
    auto& known = added_[static_cast<size_t>(run)];
    const auto found = known.find(pair);
    if (found != known.end()) return found->second;
    RunFrame& frame = frames_[static_cast<size_t>(run)];
    OpEntry entry;
    entry.name = TextOf(pair.first);
    entry.op = pair.first >= 0                   ? TextOf(pair.second)
               : pair.first == MemsetSink::kName ? "Memset"
               : GraphSink::IsName(pair.first)   ? "Graph"
               : pair.first == kBulkNull         ? ""
                                                 : "Memcpy";
    const auto node = frame.op_of_name.find(entry.name);
    int32_t op = -1;
    if (node != frame.op_of_name.end()) {
      op = node->second;
    } else if (!entry.name.empty() || !entry.op.empty()) {
      op = static_cast<int32_t>(frame.data.ops.size());
      frame.data.ops.push_back(std::move(entry));
    }
    known.emplace(pair, op);
    return op;
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
    if (key.stream >= 0) lane->label = fmt::format("stream {}", key.stream);
  }

  std::vector<RunFrame>& frames_;
  const std::unordered_map<int64_t, std::string>& texts_;
  std::vector<std::map<LaneSink::TextPair, int32_t>> added_;  // by run
  std::vector<std::map<LaneKey, RawLane>> lanes_;             // by run
  std::map<std::pair<int, LaneSink::CopyEnds>, int32_t> routes_;
};

}  // namespace

int RunFrame::CommandIndex(int64_t schedule, int64_t id) const {
  if (!FitsInt(schedule) || !FitsInt(id) || id < 0) return -1;
  if (commands.empty()) {
    return schedule == 0 && static_cast<size_t>(id) < data.commands.size() ? static_cast<int>(id) : -1;
  }
  const auto found = commands.find({static_cast<int>(schedule), static_cast<int>(id)});
  return found == commands.end() ? -1 : found->second;
}

int RunFrame::DeviceIndex(int number) {
  const auto [found, added] = device_index.try_emplace(number, static_cast<int>(data.devices.size()));
  if (added) {
    RunDevice device;
    device.id = number;
    device.label = DeviceLabel({}, number);
    device.is_host = number == kHostDevice;
    device.kind = device.is_host ? "host" : "cuda";
    device.full_name = device.label;
    data.devices.push_back(std::move(device));
  }
  return found->second;
}

std::vector<std::vector<RawLane>> ScanActivities(SliceReader* reader, std::vector<RunFrame>* frames,
                                                 const std::atomic<bool>* cancelled,
                                                 const ScanProgress& progress) {
  const std::string_view tables[] = {Origins::kTable, KernelSink::kTable, GraphSink::kTable, CopySink::kTable,
                                     MemsetSink::kTable};
  double total = 1, done = 0;
  for (const std::string_view table : tables) total += static_cast<double>(reader->EstimateRows(table));
  const auto read = [&](std::string_view table, const std::vector<BulkColumn>& columns, BulkSink* sink,
                        const char* doing) {
    if (!reader->HasTable(table)) return;
    const auto rows = static_cast<double>(reader->EstimateRows(table));
    reader->Read(table, columns, sink, cancelled, [&](double fraction) {
      if (progress) progress((done + fraction * rows) / total, doing);
    });
    done += rows;
  };
  std::unordered_map<int64_t, std::string> texts;
  for (auto& [id, text] : reader->Texts()) texts.emplace(id, std::move(text));
  Origins origins(*frames);
  read(Origins::kTable, origins.Wanted(), &origins, "reading commands");
  int64_t activities = 0;
  for (const std::string_view table : tables) {
    if (table != Origins::kTable) activities += reader->EstimateRows(table);
  }
  origins.Finish(activities);
  LaneJoiner joiner(frames, texts);
  KernelSink kernels(*frames, origins, reader);
  read(KernelSink::kTable, kernels.Wanted(), &kernels, "reading launches");
  joiner.Take(&kernels);
  GraphSink graphs(*frames, origins, reader);
  read(GraphSink::kTable, graphs.Wanted(), &graphs, "reading launches of graphs");
  joiner.Take(&graphs);
  CopySink copies(*frames, origins, reader);
  read(CopySink::kTable, copies.Wanted(), &copies, "reading copies");
  joiner.Take(&copies);
  MemsetSink memsets(*frames, origins, reader);
  read(MemsetSink::kTable, memsets.Wanted(), &memsets, "reading memory sets");
  joiner.Take(&memsets);
  return joiner.Finish();
}

}  // namespace lanescope::gui
