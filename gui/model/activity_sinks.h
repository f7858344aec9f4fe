// SPDX-License-Identifier: Apache-2.0
// Activities sorted into lanes while they are read. Part of activity_scan.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "gui/model/activity_scan.h"
#include "gui/model/run_builder.h"
#include "traces/read/activity_cursor.h"

namespace lanescope::gui {

// A lane while it is collected: device numbers are the trace's.
struct LaneKey {
  int run = 0;
  LaneRole role = LaneRole::kCompute;
  int device = 0, peer = -1;
  int stream = -1;  // foreign traces have a lane a stream
  auto operator<=>(const LaneKey&) const = default;
};

// The name of a slice that runs no node of the graph.
struct OpKey {
  enum class Source : uint8_t { kKernel, kGraph, kCopy, kMemset };
  Source source = Source::kKernel;
  int64_t name = -1;   // kernels: id of a text; graphs: their number; copies: their class
  int64_t brief = -1;  // kernels: id of the short name
  auto operator<=>(const OpKey&) const = default;
};

// Collects slices by part and lane. Ops that are not nodes of the graph are numbered -2, -3, ... by part
// until all parts are there.
class LaneSink : public traces::ActivityVisitor {
 public:
  // Where a copy of no command went: devices of the trace, and ENUM_CUDA_MEMCPY_OPER.
  struct CopyEnds {
    int src = 0, dst = 0;
    int64_t kind = 0;
    auto operator<=>(const CopyEnds&) const = default;
  };
  using Pieces = std::vector<RawLane::Piece>;
  struct Part {
    std::map<LaneKey, Pieces> lanes;
    const LaneKey* last_key = nullptr;
    Pieces* last = nullptr;
    std::map<OpKey, int32_t> ops;
    std::vector<OpKey> op_list;
    std::vector<std::pair<int64_t, int32_t>> op_of_kernel;  // by name, if small: (short name, op)
    std::map<CopyEnds, int32_t> routes;
    std::vector<CopyEnds> route_list;
    std::vector<int64_t> invalid;  // by run
  };

  // The frames must outlive it. `routes`: some copies belong to no command, which would say where they went.
  LaneSink(const std::vector<RunFrame>& frames, bool routes) : frames_(frames), routes_(routes) {}

  void Begin(int parts) override;
  void Launch(traces::Stretch at, const traces::ActivityRow& row, const traces::LaunchNames& names) override;
  void Copy(traces::Stretch at, const traces::ActivityRow& row, const traces::CopiedBytes& copied) override;
  void Memset(traces::Stretch at, const traces::ActivityRow& row, int64_t bytes) override;
  void Invalid(traces::Stretch at, int run) override;
  std::vector<Part>& parts() { return parts_; }

 private:
  Part& Of(traces::Stretch at) { return parts_[static_cast<size_t>(at.part)]; }
  // With the node that the activity's command runs, or what `key` names where none is known.
  RawSlice SliceOf(Part& part, const traces::ActivityRow& row, const OpKey& key) const;
  void AddCompute(Part& part, const traces::ActivityRow& row, const OpKey& key) const;
  static RawLane::Piece& PieceOf(Part& part, const LaneKey& key, const traces::ActivityRow& row);
  // The part's own number for what is no node.
  static int32_t OpOf(Part& part, const OpKey& key);
  // The part's own number for the ends of a copy, until parts are joined.
  static int32_t RouteOf(Part& part, const CopyEnds& ends);

  const std::vector<RunFrame>& frames_;
  const bool routes_;
  std::vector<Part> parts_;
};

}  // namespace lanescope::gui
