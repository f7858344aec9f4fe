#include "gui/activity_scan.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "traces/copy_class.h"
#include "traces/trace_reader.h"

namespace lanescope::gui {
namespace {

constexpr std::string_view kOrigins = "LANESCOPE_ACTIVITY";
constexpr std::string_view kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::string_view kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr std::string_view kMemsets = "CUPTI_ACTIVITY_KIND_MEMSET";
// Times beyond this are no measurement: 36 years in ns.
constexpr int64_t kMaxTime = int64_t{1} << 60;

using Columns = std::span<const std::vector<int64_t>>;

int64_t OrElse(int64_t value, int64_t fallback) { return value == kBulkNull ? fallback : value; }

bool FitsInt(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }

bool GoodTimes(int64_t start, int64_t end) { return start >= -kMaxTime && end <= kMaxTime && start <= end; }

// Which command, in which step, an activity executed.
struct Origin {
  int32_t command = -1, step = -1;
};

// LANESCOPE_ACTIVITY by correlation id, which is unique in a file of ours; activities of CUDA graphs share
// one and are told apart by their graph node.
class Origins : public BulkSink {
 public:
  explicit Origins(const std::vector<RunFrame>& frames) : frames_(frames) {
    for (size_t i = 0; i < frames.size(); ++i) run_of_[frames[i].data.id] = static_cast<int>(i);
  }

  // Position in the frames; -1: none.
  int RunOf(int64_t global_pid) const {
    if (frames_.size() == 1 && !frames_.front().ours) return 0;
    const auto found = run_of_.find(static_cast<int>(global_pid >> 48));
    return found == run_of_.end() ? -1 : found->second;
  }

  void Begin(int parts) override { parts_.assign(static_cast<size_t>(parts), {}); }

  void Rows(int part, size_t rows, Columns columns) override {
    Part& to = parts_[static_cast<size_t>(part)];
    for (size_t i = 0; i < rows; ++i) {
      const int run = RunOf(columns[0][i]);
      if (run < 0) continue;
      const int64_t step = OrElse(columns[5][i], -1);
      const Origin origin{frames_[static_cast<size_t>(run)].CommandIndex(OrElse(columns[4][i], -1),
                                                                         OrElse(columns[3][i], -1)),
                          FitsInt(step) ? static_cast<int32_t>(step) : -1};
      if (columns[2][i] == kBulkNull) {
        to.plain.emplace_back(columns[1][i], origin);
      } else {
        to.graphs.emplace_back(std::pair(columns[1][i], columns[2][i]), origin);
      }
    }
  }

  void Finish() {
    int64_t low = INT64_MAX, high = INT64_MIN;
    size_t count = 0;
    for (const Part& part : parts_) {
      count += part.plain.size();
      for (const auto& entry : part.plain) {
        low = std::min(low, entry.first);
        high = std::max(high, entry.first);
      }
      graphs_.insert(graphs_.end(), part.graphs.begin(), part.graphs.end());
    }
    std::sort(graphs_.begin(), graphs_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    if (count > 0 && static_cast<uint64_t>(high) - static_cast<uint64_t>(low) < 2 * count + 4096) {
      first_ = low;
      dense_.resize(static_cast<size_t>(high - low) + 1);
      for (Part& part : parts_) {
        for (const auto& [correlation, origin] : part.plain)
          dense_[static_cast<size_t>(correlation - low)] = origin;
        part = {};
      }
      return;
    }
    sparse_.reserve(count);
    for (Part& part : parts_) {
      sparse_.insert(sparse_.end(), part.plain.begin(), part.plain.end());
      part = {};
    }
    std::sort(sparse_.begin(), sparse_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  Origin Find(int64_t correlation, int64_t graph_node) const {
    if (correlation == kBulkNull) return {};
    if (graph_node != kBulkNull && !graphs_.empty()) {
      const auto key = std::pair(correlation, graph_node);
      const auto found =
          std::lower_bound(graphs_.begin(), graphs_.end(), key,
                           [](const auto& entry, const auto& value) { return entry.first < value; });
      if (found != graphs_.end() && found->first == key) return found->second;
    }
    if (!dense_.empty()) {
      const uint64_t index = static_cast<uint64_t>(correlation) - static_cast<uint64_t>(first_);
      return index < dense_.size() ? dense_[index] : Origin();
    }
    const auto found = std::lower_bound(sparse_.begin(), sparse_.end(), correlation,
                                        [](const auto& entry, int64_t value) { return entry.first < value; });
    return found != sparse_.end() && found->first == correlation ? found->second : Origin();
  }

 private:
  struct Part {
    std::vector<std::pair<int64_t, Origin>> plain;
    std::vector<std::pair<std::pair<int64_t, int64_t>, Origin>> graphs;
  };
  const std::vector<RunFrame>& frames_;
  std::unordered_map<int, int> run_of_;
  std::vector<Part> parts_;
  int64_t first_ = 0;
  std::vector<Origin> dense_;
  std::vector<std::pair<int64_t, Origin>> sparse_;
  std::vector<std::pair<std::pair<int64_t, int64_t>, Origin>> graphs_;
};

// A lane while it is collected: device numbers are the trace's.
struct LaneKey {
  int run = 0;
  LaneRole role = LaneRole::kCompute;
  int device = 0, peer = -1;
  int stream = -1;  // foreign traces have a lane a stream
  auto operator<=>(const LaneKey&) const = default;
};

// Collects slices by part and lane. Ops that are not nodes of the graph are numbered -2, -3, ... by part
// until all parts are there.
class LaneSink : public BulkSink {
 public:
  using TextPair = std::pair<int64_t, int64_t>;  // name, short name; ids of StringIds
  struct Part {
    std::map<LaneKey, RawLane::Piece> lanes;
    const LaneKey* last_key = nullptr;
    RawLane::Piece* last = nullptr;
    std::map<TextPair, int32_t> pairs;
    std::vector<TextPair> pair_list;
    std::vector<std::pair<int64_t, int32_t>> pair_of_name;  // by name, if small: (short name, pair)
    std::vector<int64_t> invalid;                           // by run
  };

  LaneSink(const std::vector<RunFrame>& frames, const Origins& origins, SliceReader* reader)
      : frames_(frames), origins_(origins), reader_(reader) {}

  void Begin(int parts) override {
    parts_.clear();
    parts_.resize(static_cast<size_t>(parts));
    for (Part& part : parts_) part.invalid.assign(frames_.size(), 0);
  }
  std::vector<Part>& parts() { return parts_; }

 protected:
  void Add(Part& part, const LaneKey& key, const RawSlice& slice) {
    PieceOf(part, key).slices.push_back(slice);
  }
  void Add(Part& part, const LaneKey& key, const RawSlice& slice, int64_t bytes) {
    RawLane::Piece& piece = PieceOf(part, key);
    piece.slices.push_back(slice);
    piece.bytes.push_back(bytes);
  }
  // The run's own number for a pair of texts, until parts are joined.
  static int32_t PairOf(Part& part, int64_t name, int64_t op) {
    constexpr int64_t kMaxCached = 1 << 20;
    const bool cacheable = name >= 0 && name < kMaxCached;
    const auto slot = static_cast<size_t>(name);
    if (cacheable && slot < part.pair_of_name.size()) {
      const auto& cached = part.pair_of_name[slot];
      if (cached.second != 0 && cached.first == op) return cached.second;
    }
    const auto next = static_cast<int32_t>(-2 - static_cast<int64_t>(part.pair_list.size()));
    const auto [found, added] = part.pairs.try_emplace({name, op}, next);
    if (added) part.pair_list.emplace_back(name, op);
    if (cacheable) {
      if (slot >= part.pair_of_name.size()) part.pair_of_name.resize(slot + 1);
      part.pair_of_name[slot] = {op, found->second};
    }
    return found->second;
  }
  int32_t NodeOp(int run, const Origin& origin) const {
    const auto& commands = frames_[static_cast<size_t>(run)].data.commands;
    if (origin.command < 0) return -1;
    return commands[static_cast<size_t>(origin.command)].op;
  }
  // False: the row is no activity of a shown run.
  bool ReadShared(Part& part, Columns columns, size_t i, int* run, RawSlice* slice, int* device) const {
    *run = origins_.RunOf(columns[4][i]);
    if (*run < 0) return false;
    slice->start_ns = columns[0][i];
    slice->end_ns = columns[1][i];
    const int64_t number = columns[2][i];
    if (slice->start_ns == kBulkNull || slice->end_ns == kBulkNull ||
        !GoodTimes(slice->start_ns, slice->end_ns) || number < INT32_MIN || number > UINT32_MAX) {
      ++part.invalid[static_cast<size_t>(*run)];
      return false;
    }
    *device = static_cast<int>(static_cast<uint32_t>(number));
    if (!frames_[static_cast<size_t>(*run)].ours) *device = reader_->DeviceOf(columns[4][i], *device);
    const Origin origin = origins_.Find(columns[3][i], columns[6][i]);
    slice->command = origin.command;
    slice->step = origin.step;
    return true;
  }
  int StreamOf(int run, int64_t stream) const {
    if (frames_[static_cast<size_t>(run)].ours) return -1;
    return static_cast<int>(static_cast<uint32_t>(OrElse(stream, 0)));
  }

  const std::vector<RunFrame>& frames_;
  const Origins& origins_;

 private:
  RawLane::Piece& PieceOf(Part& part, const LaneKey& key) {
    if (part.last_key != nullptr && *part.last_key == key) return *part.last;
    const auto found = part.lanes.try_emplace(key).first;
    part.last_key = &found->first;
    part.last = &found->second;
    return found->second;
  }

  SliceReader* reader_;
  std::vector<Part> parts_;
};

constexpr BulkColumn kShared[] = {{"start", true}, {"end", true}, {"deviceId", true}, {"correlationId"},
                                  {"globalPid"},   {"streamId"},  {"graphNodeId"}};

template <size_t N>
std::vector<BulkColumn> WithShared(const BulkColumn (&more)[N]) {
  std::vector<BulkColumn> columns(std::begin(kShared), std::end(kShared));
  columns.insert(columns.end(), std::begin(more), std::end(more));
  return columns;
}

class KernelSink : public LaneSink {
 public:
  using LaneSink::LaneSink;
  static std::vector<BulkColumn> Wanted() {
    constexpr BulkColumn kMore[] = {{"demangledName"}, {"shortName", true}};
    return WithShared(kMore);
  }
  void Rows(int number, size_t rows, Columns columns) override {
    Part& part = parts()[static_cast<size_t>(number)];
    for (size_t i = 0; i < rows; ++i) {
      int run = 0, device = 0;
      RawSlice slice;
      if (!ReadShared(part, columns, i, &run, &slice, &device)) continue;
      slice.op = NodeOp(run, {slice.command, slice.step});
      if (slice.op < 0) {
        const int64_t op = columns[8][i];
        slice.op = PairOf(part, OrElse(columns[7][i], op), op);
      }
      Add(part, {run, LaneRole::kCompute, device, -1, StreamOf(run, columns[5][i])}, slice);
    }
  }
};

class CopySink : public LaneSink {
 public:
  using LaneSink::LaneSink;
  static std::vector<BulkColumn> Wanted() {
    constexpr BulkColumn kMore[] = {{"bytes", true}, {"copyKind", true}, {"srcKind"},
                                    {"dstKind"},     {"srcDeviceId"},    {"dstDeviceId"}};
    return WithShared(kMore);
  }
  void Rows(int number, size_t rows, Columns columns) override {
    Part& part = parts()[static_cast<size_t>(number)];
    for (size_t i = 0; i < rows; ++i) {
      int run = 0, device = 0;
      RawSlice slice;
      if (!ReadShared(part, columns, i, &run, &slice, &device)) continue;
      const int64_t bytes = OrElse(columns[7][i], 0);
      if (bytes < 0) {
        ++part.invalid[static_cast<size_t>(run)];
        continue;
      }
      const CopyRoute route = RouteOf(columns, i, run, device);
      slice.op = NodeOp(run, {slice.command, slice.step});
      if (slice.op < 0) slice.op = PairOf(part, -1 - static_cast<int64_t>(route.copy_class), -1);
      const bool in = route.dst == device && route.src != device;
      Add(part, {run, in ? LaneRole::kCopyIn : LaneRole::kCopyOut, device, -1, -1}, slice, bytes);
      if (route.src != route.dst) Add(part, {run, LaneRole::kLink, route.src, route.dst, -1}, slice, bytes);
    }
  }

 private:
  CopyRoute RouteOf(Columns columns, size_t i, int run, int device) const {
    const auto maybe = [&](size_t column) {
      return columns[column][i] == kBulkNull ? std::nullopt : std::optional<int64_t>(columns[column][i]);
    };
    const auto number = [&](size_t column) -> std::optional<int> {
      if (columns[column][i] == kBulkNull || !FitsInt(columns[column][i])) return std::nullopt;
      return static_cast<int>(columns[column][i]);
    };
    return ClassifyCopy({OrElse(columns[8][i], 0), maybe(9), maybe(10), device, number(11), number(12)},
                        frames_[static_cast<size_t>(run)].host);
  }
};

class MemsetSink : public LaneSink {
 public:
  using LaneSink::LaneSink;
  static constexpr int64_t kName = -100;
  static std::vector<BulkColumn> Wanted() {
    constexpr BulkColumn kMore[] = {{"bytes"}};
    return WithShared(kMore);
  }
  void Rows(int number, size_t rows, Columns columns) override {
    Part& part = parts()[static_cast<size_t>(number)];
    for (size_t i = 0; i < rows; ++i) {
      int run = 0, device = 0;
      RawSlice slice;
      if (!ReadShared(part, columns, i, &run, &slice, &device)) continue;
      slice.op = NodeOp(run, {slice.command, slice.step});
      if (slice.op < 0) slice.op = PairOf(part, kName, -1);
      Add(part, {run, LaneRole::kCompute, device, -1, StreamOf(run, columns[5][i])}, slice);
    }
  }
};

// Turns what the sinks collected into raw lanes with the ops' final numbers.
class LaneJoiner {
 public:
  LaneJoiner(std::vector<RunFrame>* frames, const std::unordered_map<int64_t, std::string>& texts)
      : frames_(*frames), texts_(texts), added_(frames->size()), lanes_(frames->size()) {}

  void Take(LaneSink* sink) {
    for (LaneSink::Part& part : sink->parts()) {
      for (size_t run = 0; run < frames_.size(); ++run) frames_[run].data.invalid_rows += part.invalid[run];
      for (auto& [key, piece] : part.lanes) {
        std::vector<int32_t> ops(part.pair_list.size(), kUnresolved);
        for (RawSlice& slice : piece.slices) {
          if (slice.op >= -1) continue;
          const auto pair = static_cast<size_t>(-2 - slice.op);
          if (ops[pair] == kUnresolved) ops[pair] = OpOf(key.run, part.pair_list[pair]);
          slice.op = ops[pair];
        }
        lanes_[static_cast<size_t>(key.run)][key].pieces.push_back(std::move(piece));
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
  std::string TextOf(int64_t id) const {
    if (id == MemsetSink::kName) return "set memory";
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
    entry.op = pair.first < 0 ? (pair.first == MemsetSink::kName ? "Memset" : "Memcpy") : TextOf(pair.second);
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
  const std::string_view tables[] = {kOrigins, kKernels, kCopies, kMemsets};
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
  read(kOrigins,
       {{"globalPid", true}, {"correlationId", true}, {"graphNodeId"}, {"commandId"}, {"schedule"}, {"step"}},
       &origins, "reading commands");
  origins.Finish();
  LaneJoiner joiner(frames, texts);
  KernelSink kernels(*frames, origins, reader);
  read(kKernels, KernelSink::Wanted(), &kernels, "reading launches");
  joiner.Take(&kernels);
  CopySink copies(*frames, origins, reader);
  read(kCopies, CopySink::Wanted(), &copies, "reading copies");
  joiner.Take(&copies);
  MemsetSink memsets(*frames, origins, reader);
  read(kMemsets, MemsetSink::Wanted(), &memsets, "reading memory sets");
  joiner.Take(&memsets);
  return joiner.Finish();
}

}  // namespace lanescope::gui
