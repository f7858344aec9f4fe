// The messages and field numbers are those of Chakra's et_def.proto.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "traces/export/export.h"
#include "traces/export/timeline.h"
#include "traces/export/wire_writer.h"
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
constexpr int kAttributeName = 1, kInt64Value = 9, kBoolValue = 27, kTextValue = 29;

// CollectiveCommType; -1: none of those.
int64_t CollectiveType(const std::string& kind) {
  constexpr std::array<std::string_view, 10> kKinds = {"AllReduce", "Reduce",    "AllGather", "Gather",
                                                       "Scatter",   "Broadcast", "AllToAll",  "ReduceScatter",
                                                       "",          "Barrier"};
  const auto found = std::ranges::find(kKinds, std::string_view(kind));
  return found == kKinds.end() ? -1 : found - kKinds.begin();
}

class ChakraWriter {
 public:
  ChakraWriter(const Timeline& timeline, int gpu, const ExportOutput& output)
      : timeline_(timeline), gpu_(gpu), output_(output) {
    for (const Timeline::Arrow& arrow : timeline.arrows) {
      before_.emplace_back(arrow.to, arrow.from);
      if (TrackOf(arrow.to).device == gpu) threads_.insert(Slice(arrow.from).track);
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

  // What ran on the GPU, and the calls of the threads that launched it; without a GPU, all.
  bool IsNode(int slice) const {
    const Timeline::Slice& of = Slice(slice);
    if (of.kind == SliceKind::kStep || of.kind == SliceKind::kRange || of.kind == SliceKind::kMessage)
      return false;
    if (gpu_ < 0) return true;
    return of.kind == SliceKind::kApiCall ? threads_.contains(of.track) : TrackOf(slice).device == gpu_;
  }

  static uint64_t NumberOf(int slice) { return static_cast<uint64_t>(slice) + 1; }

  // Of a track that stands among those of its task the device is the first word of its name.
  std::string DeviceOf(const Timeline::Track& track) const {
    const Timeline::Process& process = timeline_.processes[static_cast<size_t>(track.process)];
    return process.is_task ? process.name + " " + track.name.substr(0, track.name.find(' ')) : process.name;
  }

  uint64_t TypeOf(const Timeline::Slice& slice, const std::string& kind) const {
    if (slice.kind == SliceKind::kCopy && slice.copy_class == CopyClass::kHostToDevice) return kLoadNode;
    if (slice.kind == SliceKind::kCopy && slice.copy_class == CopyClass::kDeviceToHost) return kStoreNode;
    if (slice.kind != SliceKind::kCommunication) return kComputeNode;
    return kind == "Send" ? kSendNode : kind == "Recv" ? kReceiveNode : kCollectiveNode;
  }

  void WriteNode(int number, int before_on_track) {
    const Timeline::Slice& slice = Slice(number);
    const std::string kind =
        slice.kind == SliceKind::kCommunication ? CollectiveKind(timeline_.Name(slice)) : std::string();
    WireWriter node;
    node.Integer(kNodeId, NumberOf(number))
        .Bytes(kNodeName, timeline_.Name(slice))
        .Integer(kNodeType, TypeOf(slice, kind));
    if (before_on_track >= 0) node.Integer(kNodeControlDeps, NumberOf(before_on_track));
    for (auto found = std::ranges::lower_bound(before_, std::pair(number, 0));
         found != before_.end() && found->first == number; ++found) {
      if (IsNode(found->second)) node.Integer(kNodeDataDeps, NumberOf(found->second));
    }
    const int64_t length = slice.end_ns - slice.start_ns;
    node.Signed(kNodeStart, slice.start_ns / 1000).Signed(kNodeDuration, length / 1000);
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
    attribute(track.device < 0 ? "tid" : "stream", kInt64Value, track.number);
    if (gpu_ < 0) text("device", DeviceOf(track));
    if (const int64_t type = CollectiveType(kind); type >= 0) attribute("comm_type", kInt64Value, type);
    const bool moves = slice.kind == SliceKind::kCommunication;
    if (slice.bytes >= 0) attribute(moves ? "comm_size" : "tensor_size", kInt64Value, slice.bytes);
    output_(node.Delimited());
  }

  const Timeline& timeline_;
  const int gpu_;
  const ExportOutput& output_;
  std::vector<std::pair<int, int>> before_;  // slice and what it waits for
  std::set<int> threads_;                    // tracks
};

}  // namespace

void WriteChakra(const TraceRun& run, int gpu, const ExportOutput& output) {
  const Timeline timeline = MakeTimeline(run);
  ChakraWriter(timeline, gpu, output).Write();
}

std::vector<int> GpusOfRun(const TraceRun& run) { return WorkingGpus(run); }

}  // namespace lanescope::traces
