// SPDX-License-Identifier: Apache-2.0
#include "gui/model/activity_sinks.h"

#include "traces/read/activity_names.h"

namespace lanescope::gui {
namespace {

// Slices of a piece: beyond that a new one begins, since a large vector grows by copying.
constexpr size_t kPieceSlices = 2048;

}  // namespace

void LaneSink::Begin(int parts) {
  parts_.clear();
  parts_.resize(static_cast<size_t>(parts));
  for (Part& part : parts_) part.invalid.assign(frames_.size(), 0);
}

int32_t LaneSink::OpOf(Part& part, const OpKey& key) {
  constexpr int64_t kMaxCached = 1 << 20;
  const bool cacheable = key.source == OpKey::Source::kKernel && key.name >= 0 && key.name < kMaxCached;
  const auto slot = static_cast<size_t>(key.name);
  if (cacheable && slot < part.op_of_kernel.size()) {
    const auto& cached = part.op_of_kernel[slot];
    if (cached.second != 0 && cached.first == key.brief) return cached.second;
  }
  const auto next = static_cast<int32_t>(-2 - static_cast<int64_t>(part.op_list.size()));
  const auto [found, added] = part.ops.try_emplace(key, next);
  if (added) part.op_list.push_back(key);
  if (cacheable) {
    if (slot >= part.op_of_kernel.size()) part.op_of_kernel.resize(slot + 1);
    part.op_of_kernel[slot] = {key.brief, found->second};
  }
  return found->second;
}

int32_t LaneSink::RouteOf(Part& part, const CopyEnds& ends) {
  const auto [found, added] = part.routes.try_emplace(ends, static_cast<int32_t>(part.route_list.size()));
  if (added) part.route_list.push_back(ends);
  return found->second;
}

RawSlice LaneSink::SliceOf(Part& part, const traces::ActivityRow& row, const OpKey& key) const {
  const RunFrame& frame = frames_[static_cast<size_t>(row.run)];
  RawSlice slice;
  slice.start_ns = row.start_ns;
  slice.end_ns = row.end_ns;
  slice.command = row.origin.command;
  slice.step = row.origin.step;
  if (frame.range_steps != nullptr) {
    slice.step = frame.range_steps->OfActivity(row.global_pid, row.correlation, row.start_ns);
  }
  slice.op = -1;
  if (frame.calls != nullptr) slice.call = frame.calls->Find(row.global_pid, row.correlation, row.start_ns);
  if (slice.command >= 0) slice.op = frame.data.commands[static_cast<size_t>(slice.command)].op;
  if (slice.op < 0) slice.op = OpOf(part, key);
  return slice;
}

void LaneSink::AddCompute(Part& part, const traces::ActivityRow& row, const OpKey& key) const {
  const int stream = frames_[static_cast<size_t>(row.run)].ours ? -1 : row.stream;
  PieceOf(part, {row.run, LaneRole::kCompute, row.device, -1, stream}, row)
      .slices.push_back(SliceOf(part, row, key));
}

RawLane::Piece& LaneSink::PieceOf(Part& part, const LaneKey& key, const traces::ActivityRow& row) {
  if (part.last_key == nullptr || *part.last_key != key) {
    const auto found = part.lanes.try_emplace(key).first;
    part.last_key = &found->first;
    part.last = &found->second;
  }
  Pieces& pieces = *part.last;
  if (pieces.empty()) {
    pieces.emplace_back().process = row.global_pid > 0 ? row.global_pid : -1;
    return pieces.back();
  }
  if (pieces.back().slices.size() == kPieceSlices) pieces.emplace_back().slices.reserve(kPieceSlices);
  return pieces.back();
}

void LaneSink::Launch(traces::Stretch at, const traces::ActivityRow& row, const traces::LaunchNames& names) {
  const bool graph = names.full < -1;
  AddCompute(Of(at), row,
             graph ? OpKey{OpKey::Source::kGraph, traces::GraphOfNameId(names.full)}
                   : OpKey{OpKey::Source::kKernel, names.full, names.brief});
}

void LaneSink::Copy(traces::Stretch at, const traces::ActivityRow& row, const traces::CopiedBytes& copied) {
  Part& to = Of(at);
  const traces::CopyRoute& route = copied.route;
  const RawSlice slice = SliceOf(to, row, {OpKey::Source::kCopy, static_cast<int64_t>(route.copy_class)});
  const auto add = [&](const LaneKey& lane) -> RawLane::Piece& {
    RawLane::Piece& piece = PieceOf(to, lane, row);
    piece.slices.push_back(slice);
    piece.bytes.push_back(copied.bytes);
    return piece;
  };
  RawLane::Piece& piece = add({row.run, CopyRole(row.device, route.src, route.dst), row.device, -1, -1});
  if (routes_) {
    piece.routes.push_back(slice.op >= 0 ? -1 : RouteOf(to, {route.src, route.dst, copied.kind}));
  }
  if (route.src != route.dst) add({row.run, LaneRole::kLink, route.src, route.dst, -1});
}

void LaneSink::Memset(traces::Stretch at, const traces::ActivityRow& row, int64_t) {
  AddCompute(Of(at), row, {OpKey::Source::kMemset});
}

void LaneSink::Invalid(traces::Stretch at, int run) { ++Of(at).invalid[static_cast<size_t>(run)]; }

}  // namespace lanescope::gui
