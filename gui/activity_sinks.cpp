#include "gui/activity_sinks.h"

#include <algorithm>
#include <optional>

namespace lanescope::gui {
namespace {

// Times beyond this are no measurement: 146 years in ns; exports can count from 1970.
constexpr int64_t kMaxTime = (int64_t{1} << 62) - 1;

bool GoodTimes(int64_t start, int64_t end) { return start >= -kMaxTime && end <= kMaxTime && start <= end; }

constexpr BulkColumn kShared[] = {{"start", true}, {"end", true}, {"deviceId"},   {"correlationId"},
                                  {"globalPid"},   {"streamId"},  {"graphNodeId"}};

template <size_t N>
std::vector<BulkColumn> WithShared(const BulkColumn (&more)[N]) {
  std::vector<BulkColumn> columns(std::begin(kShared), std::end(kShared));
  columns.insert(columns.end(), std::begin(more), std::end(more));
  return columns;
}

}  // namespace

void LaneSink::Begin(int parts) {
  parts_.clear();
  parts_.resize(static_cast<size_t>(parts));
  for (Part& part : parts_) part.invalid.assign(frames_.size(), 0);
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

int32_t LaneSink::NodeOp(int run, const RawSlice& slice) const {
  const auto& commands = frames_[static_cast<size_t>(run)].data.commands;
  return slice.command < 0 ? -1 : commands[static_cast<size_t>(slice.command)].op;
}

bool LaneSink::ReadShared(Part& part, Columns columns, size_t i, int* run, RawSlice* slice,
                          int* device) const {
  *run = origins_.RunOf(columns[4][i]);
  if (*run < 0) return false;
  slice->start_ns = columns[0][i];
  slice->end_ns = columns[1][i];
  const int64_t number = OrElse(columns[2][i], 0);
  if (slice->start_ns == kBulkNull || slice->end_ns == kBulkNull ||
      !GoodTimes(slice->start_ns, slice->end_ns) || number < INT32_MIN || number > UINT32_MAX) {
    ++part.invalid[static_cast<size_t>(*run)];
    return false;
  }
  *device = DeviceOf(*run, columns[4][i], number);
  const Origin origin = origins_.Find(columns[3][i], columns[6][i]);
  slice->command = origin.command;
  slice->step = origin.step;
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
  if (part.last_key != nullptr && *part.last_key == key) return *part.last;
  const auto found = part.lanes.try_emplace(key).first;
  part.last_key = &found->first;
  part.last = &found->second;
  return found->second;
}

std::vector<BulkColumn> KernelSink::Wanted() {
  constexpr BulkColumn kMore[] = {{"demangledName"}, {"shortName"}};
  return WithShared(kMore);
}

void KernelSink::Rows(int number, size_t rows, Columns columns) {
  Part& part = parts()[static_cast<size_t>(number)];
  for (size_t i = 0; i < rows; ++i) {
    int run = 0, device = 0;
    RawSlice slice;
    if (!ReadShared(part, columns, i, &run, &slice, &device)) continue;
    slice.op = NodeOp(run, slice);
    if (slice.op < 0) {
      const int64_t name = OrElse(columns[7][i], columns[8][i]);
      slice.op = PairOf(part, name, OrElse(columns[8][i], name));
    }
    Add(part, {run, LaneRole::kCompute, device, -1, StreamOf(run, columns[5][i])}, slice);
  }
}

std::vector<BulkColumn> GraphSink::Wanted() {
  constexpr BulkColumn kMore[] = {{"graphId"}};
  return WithShared(kMore);
}

void GraphSink::Rows(int number, size_t rows, Columns columns) {
  Part& part = parts()[static_cast<size_t>(number)];
  for (size_t i = 0; i < rows; ++i) {
    int run = 0, device = 0;
    RawSlice slice;
    if (!ReadShared(part, columns, i, &run, &slice, &device)) continue;
    slice.op = NodeOp(run, slice);
    const int64_t graph = std::clamp<int64_t>(OrElse(columns[7][i], 0), 0, UINT32_MAX);
    if (slice.op < 0) slice.op = PairOf(part, NameOf(graph), -1);
    Add(part, {run, LaneRole::kCompute, device, -1, StreamOf(run, columns[5][i])}, slice);
  }
}

std::vector<BulkColumn> CopySink::Wanted() {
  constexpr BulkColumn kMore[] = {{"bytes"},   {"copyKind"},    {"srcKind"},
                                  {"dstKind"}, {"srcDeviceId"}, {"dstDeviceId"}};
  return WithShared(kMore);
}

void CopySink::Rows(int number, size_t rows, Columns columns) {
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
    slice.op = NodeOp(run, slice);
    if (slice.op < 0) slice.op = PairOf(part, -1 - static_cast<int64_t>(route.copy_class), -1);
    const bool in = route.dst == device && route.src != device;
    Add(part, {run, in ? LaneRole::kCopyIn : LaneRole::kCopyOut, device, -1, -1}, slice, bytes);
    if (route.src != route.dst) Add(part, {run, LaneRole::kLink, route.src, route.dst, -1}, slice, bytes);
  }
}

CopyRoute CopySink::RouteOf(Columns columns, size_t i, int run, int device) const {
  const auto maybe = [&](size_t column) {
    return columns[column][i] == kBulkNull ? std::nullopt : std::optional<int64_t>(columns[column][i]);
  };
  const auto number = [&](size_t column) -> std::optional<int> {
    if (columns[column][i] == kBulkNull || !FitsInt(columns[column][i])) return std::nullopt;
    return DeviceOf(run, columns[4][i], columns[column][i]);
  };
  return ClassifyCopy({OrElse(columns[8][i], 0), maybe(9), maybe(10), device, number(11), number(12)},
                      frames_[static_cast<size_t>(run)].host);
}

std::vector<BulkColumn> MemsetSink::Wanted() {
  constexpr BulkColumn kMore[] = {{"bytes"}};
  return WithShared(kMore);
}

void MemsetSink::Rows(int number, size_t rows, Columns columns) {
  Part& part = parts()[static_cast<size_t>(number)];
  for (size_t i = 0; i < rows; ++i) {
    int run = 0, device = 0;
    RawSlice slice;
    if (!ReadShared(part, columns, i, &run, &slice, &device)) continue;
    slice.op = NodeOp(run, slice);
    if (slice.op < 0) slice.op = PairOf(part, kName, -1);
    Add(part, {run, LaneRole::kCompute, device, -1, StreamOf(run, columns[5][i])}, slice);
  }
}

}  // namespace lanescope::gui
