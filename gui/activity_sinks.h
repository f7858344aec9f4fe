// The rows of the activity tables, sorted into lanes while they are read. Part of activity_scan.
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "gui/activity_origins.h"
#include "gui/run_builder.h"
#include "traces/copy_class.h"
#include "traces/slice_reader.h"

namespace lanescope::gui {

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
    std::map<TextPair, int32_t> pairs;
    std::vector<TextPair> pair_list;
    std::vector<std::pair<int64_t, int32_t>> pair_of_name;  // by name, if small: (short name, pair)
    std::map<CopyEnds, int32_t> routes;
    std::vector<CopyEnds> route_list;
    std::vector<int64_t> invalid;  // by run
  };

  // All three must outlive it; the origins are complete.
  LaneSink(const std::vector<RunFrame>& frames, const Origins& origins, SliceReader* reader)
      : frames_(frames), origins_(origins), reader_(reader) {}

  void Begin(int parts) override;
  std::vector<Part>& parts() { return parts_; }

 protected:
  // The columns that ReadShared and StreamOf take, then `more`.
  std::vector<BulkColumn> WithShared(std::initializer_list<BulkColumn> more) const;
  static void Add(Part& part, const LaneKey& key, const RawSlice& slice) {
    PieceOf(part, key).slices.push_back(slice);
  }
  static void Add(Part& part, const LaneKey& key, const RawSlice& slice, int64_t bytes) {
    RawLane::Piece& piece = PieceOf(part, key);
    piece.slices.push_back(slice);
    piece.bytes.push_back(bytes);
  }
  static void Add(Part& part, const LaneKey& key, const RawSlice& slice, int64_t bytes, int32_t route) {
    RawLane::Piece& piece = PieceOf(part, key);
    piece.slices.push_back(slice);
    piece.bytes.push_back(bytes);
    piece.routes.push_back(route);
  }
  // The part's own number for the ends of a copy, until parts are joined.
  static int32_t RouteOf(Part& part, const CopyEnds& ends);
  // The run's own number for a pair of texts, until parts are joined.
  static int32_t PairOf(Part& part, int64_t name, int64_t op);
  // The node that the slice's command runs; -1: none is known.
  int32_t NodeOp(int run, const RawSlice& slice) const;
  // False: the row is no activity of a shown run.
  bool ReadShared(Part& part, Values values, int* run, RawSlice* slice, int* device) const;
  // Device number of the trace; processes of other tools' traces have numbers of their own.
  int DeviceOf(int run, int64_t global_pid, int64_t number) const;
  int StreamOf(int run, int64_t stream) const;

  const std::vector<RunFrame>& frames_;
  const Origins& origins_;

 private:
  static RawLane::Piece& PieceOf(Part& part, const LaneKey& key);

  SliceReader* reader_;
  std::vector<Part> parts_;
};

class KernelSink : public LaneSink {
 public:
  static constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_KERNEL";
  std::vector<BulkColumn> Wanted() const;
  using LaneSink::LaneSink;
  void Row(int part, Values values) override;
};

// Launches of whole CUDA graphs, whose kernels have no rows of their own.
class GraphSink : public LaneSink {
 public:
  static constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
  std::vector<BulkColumn> Wanted() const;
  // Stand for the names of graphs, whose numbers have 32 bits.
  static constexpr int64_t NameOf(int64_t graph) { return -1000 - graph; }
  static constexpr bool IsName(int64_t id) { return id <= NameOf(0) && id >= NameOf(UINT32_MAX); }
  static constexpr int64_t GraphOf(int64_t name) { return -1000 - name; }
  using LaneSink::LaneSink;
  void Row(int part, Values values) override;
};

class CopySink : public LaneSink {
 public:
  static constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_MEMCPY";
  std::vector<BulkColumn> Wanted() const;
  using LaneSink::LaneSink;
  void Row(int part, Values values) override;

 private:
  CopyRoute Classify(Values values, int run, int device) const;
};

class MemsetSink : public LaneSink {
 public:
  static constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_MEMSET";
  static constexpr int64_t kName = -100;  // stands for the name of every memory set
  std::vector<BulkColumn> Wanted() const;
  using LaneSink::LaneSink;
  void Row(int part, Values values) override;
};

}  // namespace lanescope::gui
