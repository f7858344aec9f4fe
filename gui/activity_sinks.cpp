#include "gui/activity_sinks.h"

#include <algorithm>
#include <optional>

namespace lanescope::gui {
namespace {

// Times beyond this are no measurement: 146 years in ns; exports can count from 1970.
constexpr int64_t kMaxTime = (int64_t{1} << 62) - 1;

bool GoodTimes(int64_t start, int64_t end) { return start >= -kMaxTime && end <= kMaxTime && start <= end; }

// Slices of a piece: beyond that a new one begins, since a large vector grows by copying.
constexpr size_t kPieceSlices = 2048;

}  // namespace

void LaneSink::Begin(int parts) {
  parts_.clear();
  parts_.resize(static_cast<size_t>(parts));
  for (Part& part : parts_) part.invalid.assign(frames_.size(), 0);
}

std::vector<BulkColumn> LaneSink::WithShared(std::initializer_list<BulkColumn> more) const {
  // A column costs time even where nobody needs what it says.
  const bool streams = std::any_of(frames_.begin(), frames_.end(), [](const RunFrame& f) { return !f.ours; });
  std::vector<BulkColumn> columns = {{"start", true},
                                     {"end", true},
                                     {"deviceId"},
                                     {"correlationId"},
                                     {origins_.one_run() ? "" : "globalPid"},
                                     {streams ? "streamId" : ""},
                                     {origins_.has_graph_nodes() ? "graphNodeId" : ""}};
  columns.insert(columns.end(), more);
  return columns;
}

int32_t LaneSink::PairOf(Part& part, int64_t name, int64_t op) {
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

int32_t LaneSink::RouteOf(Part& part, const CopyEnds& ends) {
  const auto [found, added] = part.routes.try_emplace(ends, static_cast<int32_t>(part.route_list.size()));
  if (added) part.route_list.push_back(ends);
  return found->second;
}

int32_t LaneSink::NodeOp(int run, const RawSlice& slice) const {
  const auto& commands = frames_[static_cast<size_t>(run)].data.commands;
  return slice.command < 0 ? -1 : commands[static_cast<size_t>(slice.command)].op;
}

bool LaneSink::ReadShared(Part& part, Values values, int* run, RawSlice* slice, int* device) const {
  *run = origins_.RunOf(values[4]);
  if (*run < 0) return false;
  slice->start_ns = values[0];
  slice->end_ns = values[1];
  const int64_t number = OrElse(values[2], 0);
  if (slice->start_ns == kBulkNull || slice->end_ns == kBulkNull ||
      !GoodTimes(slice->start_ns, slice->end_ns) || number < INT32_MIN || number > UINT32_MAX) {
    ++part.invalid[static_cast<size_t>(*run)];
    return false;
  }
  *device = DeviceOf(*run, values[4], number);
  const Origin origin = origins_.Find(values[3], values[6]);
  slice->command = origin.command;
  slice->step = origin.step;
  if (const RangeSteps* steps = frames_[static_cast<size_t>(*run)].range_steps.get()) {
    slice->step = steps->OfActivity(OrElse(values[4], 0), OrElse(values[3], -1), slice->start_ns);
  }
  return true;
}

int LaneSink::DeviceOf(int run, int64_t global_pid, int64_t number) const {
  const int device = static_cast<int>(static_cast<uint32_t>(number));
  return frames_[static_cast<size_t>(run)].ours ? device : reader_->DeviceOf(global_pid, device);
}

int LaneSink::StreamOf(int run, int64_t stream) const {
  if (frames_[static_cast<size_t>(run)].ours) return -1;
  return static_cast<int>(static_cast<uint32_t>(OrElse(stream, 0)));
}

RawLane::Piece& LaneSink::PieceOf(Part& part, const LaneKey& key) {
  if (part.last_key == nullptr || *part.last_key != key) {
    const auto found = part.lanes.try_emplace(key).first;
    part.last_key = &found->first;
    part.last = &found->second;
  }
  Pieces& pieces = *part.last;
  if (pieces.empty()) return pieces.emplace_back();
  if (pieces.back().slices.size() == kPieceSlices) pieces.emplace_back().slices.reserve(kPieceSlices);
  return pieces.back();
}

std::vector<BulkColumn> KernelSink::Wanted() const {
  if (origins_.is_complete()) return WithShared({{}, {}});
  return WithShared({{"demangledName"}, {"shortName"}});
}

void KernelSink::Row(int part, Values values) {
  Part& to = parts()[static_cast<size_t>(part)];
  int run = 0, device = 0;
  RawSlice slice;
  if (!ReadShared(to, values, &run, &slice, &device)) return;
  slice.op = NodeOp(run, slice);
  if (slice.op < 0) {
    const int64_t name = OrElse(values[7], values[8]);
    slice.op = PairOf(to, name, OrElse(values[8], name));
  }
  Add(to, {run, LaneRole::kCompute, device, -1, StreamOf(run, values[5])}, slice);
}

std::vector<BulkColumn> GraphSink::Wanted() const { return WithShared({{"graphId"}}); }

void GraphSink::Row(int part, Values values) {
  Part& to = parts()[static_cast<size_t>(part)];
  int run = 0, device = 0;
  RawSlice slice;
  if (!ReadShared(to, values, &run, &slice, &device)) return;
  slice.op = NodeOp(run, slice);
  const int64_t graph = std::clamp<int64_t>(OrElse(values[7], 0), 0, UINT32_MAX);
  if (slice.op < 0) slice.op = PairOf(to, NameOf(graph), -1);
  Add(to, {run, LaneRole::kCompute, device, -1, StreamOf(run, values[5])}, slice);
}

std::vector<BulkColumn> CopySink::Wanted() const {
  const bool kinds = origins_.has_gpus();
  return WithShared({{"bytes"},
                     {"copyKind"},
                     {kinds ? "srcKind" : ""},
                     {kinds ? "dstKind" : ""},
                     {"srcDeviceId"},
                     {"dstDeviceId"}});
}

void CopySink::Row(int part, Values values) {
  Part& to = parts()[static_cast<size_t>(part)];
  int run = 0, device = 0;
  RawSlice slice;
  if (!ReadShared(to, values, &run, &slice, &device)) return;
  const int64_t bytes = OrElse(values[7], 0);
  if (bytes < 0) {
    ++to.invalid[static_cast<size_t>(run)];
    return;
  }
  const CopyRoute route = Classify(values, run, device);
  slice.op = NodeOp(run, slice);
  if (slice.op < 0) slice.op = PairOf(to, -1 - static_cast<int64_t>(route.copy_class), -1);
  const bool in = route.dst == device && route.src != device;
  const LaneKey lane{run, in ? LaneRole::kCopyIn : LaneRole::kCopyOut, device, -1, -1};
  if (origins_.is_complete()) {
    Add(to, lane, slice, bytes);
  } else {
    const int64_t kind = KindOfRoute(route, OrElse(values[8], 0));
    Add(to, lane, slice, bytes, slice.op >= 0 ? -1 : RouteOf(to, {route.src, route.dst, kind}));
  }
  if (route.src != route.dst) Add(to, {run, LaneRole::kLink, route.src, route.dst, -1}, slice, bytes);
}

CopyRoute CopySink::Classify(Values values, int run, int device) const {
  const auto maybe = [&](size_t column) {
    return values[column] == kBulkNull ? std::nullopt : std::optional<int64_t>(values[column]);
  };
  const auto number = [&](size_t column) -> std::optional<int> {
    if (values[column] == kBulkNull || !FitsInt(values[column])) return std::nullopt;
    return DeviceOf(run, values[4], values[column]);
  };
  return ClassifyCopy({OrElse(values[8], 0), maybe(9), maybe(10), device, number(11), number(12)},
                      frames_[static_cast<size_t>(run)].host);
}

std::vector<BulkColumn> MemsetSink::Wanted() const { return WithShared({}); }

void MemsetSink::Row(int part, Values values) {
  Part& to = parts()[static_cast<size_t>(part)];
  int run = 0, device = 0;
  RawSlice slice;
  if (!ReadShared(to, values, &run, &slice, &device)) return;
  slice.op = NodeOp(run, slice);
  if (slice.op < 0) slice.op = PairOf(to, kName, -1);
  Add(to, {run, LaneRole::kCompute, device, -1, StreamOf(run, values[5])}, slice);
}

}  // namespace lanescope::gui
