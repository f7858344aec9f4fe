// SPDX-License-Identifier: Apache-2.0
// The messages and field numbers are those of Chakra's et_def.proto.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "core/base/protobuf_wire.h"
#include "traces/export/export.h"
#include "traces/export/timeline.h"
#include "traces/read/collectives.h"

namespace lanescope::traces {
namespace {

constexpr int kMetadataVersion = 1;  // of GlobalMetadata
// Node.
constexpr int kNodeId = 1, kNodeName = 2, kNodeType = 3, kNodeControlDeps = 4, kNodeDataDeps = 5,
              kNodeStart = 6, kNodeDuration = 7, kNodeAttribute = 10;
// NodeType.
constexpr uint64_t kLoadNode = 2, kStoreNode = 3, kComputeNode = 4, kSendNode = 5, kReceiveNode = 6,
                   kCollectiveNode = 7;
// AttributeProto.
constexpr int kAttributeName = 1, kInt32Value = 7, kInt64Value = 9, kBoolValue = 27, kTextValue = 29;

// CollectiveCommType; -1: none of those.
int64_t CollectiveType(const std::string& kind) {
  if (kind.empty()) return -1;
  constexpr std::array<std::string_view, 10> kKinds = {"AllReduce", "Reduce",    "AllGather", "Gather",
                                                       "Scatter",   "Broadcast", "AllToAll",  "ReduceScatter",
                                                       "",          "Barrier"};
  const auto found = std::ranges::find(kKinds, std::string_view(kind));
  return found == kKinds.end() ? -1 : found - kKinds.begin();
}

// Says what a rank's file is about; neither: all that ran.
struct ChakraRank {
  int gpu = -1, task = -1;
};

class ChakraWriter {
 public:
  ChakraWriter(const Timeline& timeline, ChakraRank rank, const ExportOutput& output)
      : timeline_(timeline), rank_(rank), output_(output) {
    if (rank.task >= 0) PairEnds();
    for (const Timeline::Arrow& arrow : timeline.arrows) {
      AddDependency(arrow);
      if (IsOwn(arrow.to)) threads_.insert(Slice(arrow.from).track);
    }
    std::ranges::sort(before_);
  }

  void Write() {
    output_(WireWriter().Bytes(kMetadataVersion, "0.0.4").Delimited());
    std::vector<int> order;
    for (size_t i = 0; i < timeline_.slices.size(); ++i) {
      if (IsNode(static_cast<int>(i))) order.push_back(static_cast<int>(i));
    }
    std::ranges::stable_sort(order, {}, [this](int slice) { return Slice(slice).start_ns; });
    std::map<int, int> last;  // by track
    for (const int slice : order) {
      if (Slice(slice).kind == SliceKind::kMessage) {  // waits in no queue here
        WriteNode(slice, -1);
        continue;
      }
      const auto [before, first] = last.try_emplace(Slice(slice).track, slice);
      WriteNode(slice, first ? -1 : before->second);
      before->second = slice;
    }
  }

 private:
  const Timeline::Slice& Slice(int slice) const { return timeline_.slices[static_cast<size_t>(slice)]; }
  const Timeline::Track& TrackOf(int slice) const {
    return timeline_.tracks[static_cast<size_t>(Slice(slice).track)];
  }

  const Timeline::Process& ProcessOf(int slice) const {
    return timeline_.processes[static_cast<size_t>(TrackOf(slice).process)];
  }

  // One end of a copy between tasks.
  struct End {
    int other = 0;  // slice
    bool sends = false;
    int tag = 0;  // no other copy of the run has it
  };

  void PairEnds() {
    int tag = 0;
    for (const auto& [from, to] : timeline_.arrows) {
      if (Slice(from).kind != SliceKind::kMessage && Slice(to).kind != SliceKind::kMessage) continue;
      ends_[from] = {to, true, tag};
      ends_[to] = {from, false, tag++};
    }
  }

  // Work that waits for a copy between tasks waits in each of the two for the end that is there; both ends
  // wait for what the copy waits for.
  void AddDependency(const Timeline::Arrow& arrow) {
    const auto ends = [this](int slice) {
      std::vector<int> both{slice};
      if (const auto end = ends_.find(slice); end != ends_.end()) both.push_back(end->second.other);
      return both;
    };
    for (const int to : ends(arrow.to)) {
      for (const int from : ends(arrow.from)) {
        if (from != to) before_.emplace_back(to, from);
      }
    }
  }

  bool IsOwn(int slice) const {
    return rank_.task >= 0 ? ProcessOf(slice).task == rank_.task : TrackOf(slice).device == rank_.gpu;
  }

  // Whether it ran on the rank's devices, or is a call of the threads that launched what did.
  bool IsNode(int slice) const {
    const Timeline::Slice& of = Slice(slice);
    if (of.kind == SliceKind::kStep || of.kind == SliceKind::kRange) return false;
    if (of.kind == SliceKind::kMessage) return rank_.task >= 0 && IsOwn(slice);
    if (rank_.gpu < 0 && rank_.task < 0) return true;
    return of.kind == SliceKind::kApiCall ? threads_.contains(of.track) : IsOwn(slice);
  }

  static uint64_t NumberOf(int slice) { return static_cast<uint64_t>(slice) + 1; }

  // The device is the first word of the name of a track that stands among those of its task.
  std::string DeviceOf(const Timeline::Track& track) const {
    const Timeline::Process& process = timeline_.processes[static_cast<size_t>(track.process)];
    return process.is_task() ? process.name + " " + track.name.substr(0, track.name.find(' ')) : process.name;
  }

  uint64_t TypeOf(const Timeline::Slice& slice, const std::string& kind, const End* end) const {
    if (end != nullptr) return end->sends ? kSendNode : kReceiveNode;
    if (slice.kind == SliceKind::kCopy && slice.copy_class == CopyClass::kHostToDevice) return kLoadNode;
    if (slice.kind == SliceKind::kCopy && slice.copy_class == CopyClass::kDeviceToHost) return kStoreNode;
    if (slice.kind != SliceKind::kCommunication) return kComputeNode;
    return kind == "Send" ? kSendNode : kind == "Recv" ? kReceiveNode : kCollectiveNode;
  }

  const std::string& Text(int number) const { return timeline_.texts[static_cast<size_t>(number)]; }

  // As the profiler says it, else by the name of the kernel: NCCL runs an all-to-all as messages.
  std::string KindOf(const Timeline::Slice& slice) const {
    if (slice.kind != SliceKind::kCommunication) return "";
    return CollectiveKind(slice.collective >= 0 ? Text(slice.collective) : timeline_.Name(slice));
  }

  // "ep" of "ep [0, 1, 2, 3]": its ranks are no part of its name.
  static std::string_view GroupName(std::string_view group) {
    const size_t ranks = group.find(" [");
    return ranks == std::string_view::npos ? group : group.substr(0, ranks);
  }

  void WriteNode(int number, int before_on_track) {
    const Timeline::Slice& slice = Slice(number);
    const std::string kind = KindOf(slice);
    const auto found_end = ends_.find(number);
    const End* const end = found_end == ends_.end() ? nullptr : &found_end->second;
    WireWriter node;
    node.Integer(kNodeId, NumberOf(number))
        .Bytes(kNodeName, timeline_.Name(slice))
        .Integer(kNodeType, TypeOf(slice, kind, end));
    if (before_on_track >= 0) node.Integer(kNodeControlDeps, NumberOf(before_on_track));
    for (auto found = std::ranges::lower_bound(before_, std::pair(number, 0));
         found != before_.end() && found->first == number; ++found) {
      if (IsNode(found->second)) node.Integer(kNodeDataDeps, NumberOf(found->second));
    }
    const int64_t length = slice.end_ns - slice.start_ns;
    node.Signed(kNodeStart, slice.start_ns / 1000).Signed(kNodeDuration, (length + 500) / 1000);
    const auto attribute = [&](std::string_view name, int field, int64_t value) {
      node.Nested(kNodeAttribute, WireWriter().Bytes(kAttributeName, name).Signed(field, value));
    };
    const auto text = [&](std::string_view name, std::string_view value) {
      node.Nested(kNodeAttribute, WireWriter().Bytes(kAttributeName, name).Bytes(kTextValue, value));
    };
    // Microseconds are coarse for kernels.
    attribute("start_ns", kInt64Value, slice.start_ns);
    attribute("duration_ns", kInt64Value, length);
    attribute("is_cpu_op", kBoolValue, slice.kind == SliceKind::kApiCall ? 1 : 0);
    const Timeline::Track& track = TrackOf(number);
    if (slice.kind != SliceKind::kMessage)
      attribute(track.device < 0 ? "tid" : "stream", kInt64Value, track.number);
    if (rank_.gpu < 0) text("device", DeviceOf(track));
    if (const int64_t type = CollectiveType(kind); type >= 0) attribute("comm_type", kInt64Value, type);
    if (slice.group >= 0) text("pg_name", GroupName(Text(slice.group)));
    if (end == nullptr && slice.src_rank >= 0) attribute("comm_src", kInt32Value, slice.src_rank);
    if (end == nullptr && slice.dst_rank >= 0) attribute("comm_dst", kInt32Value, slice.dst_rank);
    if (end != nullptr) {
      const int other = ProcessOf(end->other).task;
      attribute("comm_src", kInt32Value, end->sends ? rank_.task : other);
      attribute("comm_dst", kInt32Value, end->sends ? other : rank_.task);
      attribute("comm_tag", kInt32Value, end->tag);
    }
    const bool moves = slice.kind == SliceKind::kCommunication || end != nullptr;
    if (slice.bytes >= 0) attribute(moves ? "comm_size" : "tensor_size", kInt64Value, slice.bytes);
    output_(node.Delimited());
  }

  const Timeline& timeline_;
  const ChakraRank rank_;
  const ExportOutput& output_;
  std::vector<std::pair<int, int>> before_;  // slice and what it waits for
  std::set<int> threads_;                    // tracks
  std::unordered_map<int, End> ends_;        // by slice; of tasks' files
};

}  // namespace

int ChakraRanks(const TraceRun& run) {
  if (!run.tasks.empty()) return static_cast<int>(run.tasks.size());
  return std::max(1, static_cast<int>(WorkingGpus(run).size()));
}

void WriteChakra(const TraceRun& run, int rank, const ExportOutput& output) {
  ChakraRank about;
  if (!run.tasks.empty()) {
    about.task = rank;
  } else if (const std::vector<int> gpus = WorkingGpus(run); gpus.size() > 1) {
    about.gpu = gpus[static_cast<size_t>(rank)];
  }
  const Timeline timeline = MakeTimeline(run);
  ChakraWriter(timeline, about, output).Write();
}

}  // namespace lanescope::traces
