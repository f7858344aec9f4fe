// SPDX-License-Identifier: Apache-2.0
// The messages and field numbers are those of Perfetto's trace_packet.proto, track_event.proto,
// track_descriptor.proto and debug_annotation.proto.
#include "core/base/protobuf_wire.h"
#include "core/base/rows.h"
#include "traces/export/export.h"
#include "traces/export/timeline.h"

namespace lanescope::traces {
namespace {

// TracePacket
constexpr int kPacket = 1, kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInternedData = 12,
              kSequenceFlags = 13, kTrackDescriptor = 60;
constexpr uint64_t kStateCleared = 1, kNeedsState = 2;
// TrackDescriptor; ProcessDescriptor; CounterDescriptor
constexpr int kUuid = 1, kTrackName = 2, kProcess = 3, kParent = 5, kCounter = 8, kChildOrder = 11,
              kRank = 12;
constexpr int kPid = 1, kProcessName = 6, kProcessLabels = 8, kUnit = 3;
constexpr uint64_t kExplicitOrder = 3, kUnitBytes = 3;
// TrackEvent
constexpr int kAnnotation = 4, kType = 9, kNameId = 10, kEventTrack = 11, kCategory = 22, kValue = 30,
              kFlow = 47, kFlowEnd = 48;
constexpr uint64_t kSliceBegin = 1, kSliceEnd = 2, kCounterValue = 4;
// InternedData; EventName; DebugAnnotation
constexpr int kEventNames = 2, kId = 1, kText = 2, kIntValue = 4, kStringValue = 6, kAnnotationName = 10;

class PerfettoWriter {
 public:
  PerfettoWriter(const Timeline& timeline, const ExportOutput& output)
      : timeline_(timeline), output_(output), named_(timeline.texts.size(), 0) {
    const size_t count = timeline.slices.size();
    const auto by = [&](int Timeline::Arrow::*end) {
      return MakeRows(count, [&](const auto& add) {
        for (size_t i = 0; i < timeline.arrows.size(); ++i) add(timeline.arrows[i].*end, static_cast<int>(i));
      });
    };
    leaving_ = by(&Timeline::Arrow::from);
    arriving_ = by(&Timeline::Arrow::to);
  }

  void Write() {
    for (size_t i = 0; i < timeline_.processes.size(); ++i) {
      WireWriter process;
      process.Integer(kPid, i + 1).Bytes(kProcessName, timeline_.processes[i].name);
      if (!timeline_.processes[i].clock.empty()) process.Bytes(kProcessLabels, timeline_.processes[i].clock);
      WireWriter track;
      track.Integer(kUuid, ProcessUuid(static_cast<int>(i))).Nested(kProcess, process);
      Describe(track.Integer(kChildOrder, kExplicitOrder));
    }
    for (size_t i = 0; i < timeline_.tracks.size(); ++i) WriteTrack(i);
    for (size_t i = 0; i < timeline_.counters.size(); ++i) WriteCounter(i);
  }

 private:
  static uint64_t ProcessUuid(int process) { return static_cast<uint64_t>(process) + 1; }
  uint64_t TrackUuid(size_t track) const { return timeline_.processes.size() + 1 + track; }

  void Emit(WireWriter packet) {
    // One sequence; what its first packet says clears what came before it.
    packet.Integer(kSequence, 1).Integer(kSequenceFlags, first_ ? kStateCleared : kNeedsState);
    first_ = false;
    output_(WireWriter().Nested(kPacket, packet).bytes());
  }
  void Describe(const WireWriter& track) { Emit(WireWriter().Nested(kTrackDescriptor, track)); }

  void WriteTrack(size_t number) {
    const Timeline::Track& track = timeline_.tracks[number];
    Describe(WireWriter()
                 .Integer(kUuid, TrackUuid(number))
                 .Bytes(kTrackName, track.name)
                 .Integer(kParent, ProcessUuid(track.process))
                 .Integer(kRank, number));
    std::vector<int64_t> open;  // ends, the innermost last
    const auto end_until = [&](int64_t time) {
      for (; !open.empty() && open.back() <= time; open.pop_back()) {
        Event(open.back(), WireWriter().Integer(kType, kSliceEnd).Integer(kEventTrack, TrackUuid(number)));
      }
    };
    for (const int id : track.slices) {
      const Timeline::Slice& slice = timeline_.slices[static_cast<size_t>(id)];
      end_until(slice.start_ns);
      Begin(slice, id);
      open.push_back(slice.end_ns);
    }
    end_until(INT64_MAX);
  }

  void Event(int64_t time, const WireWriter& event) {
    Emit(WireWriter().Signed(kTimestamp, time).Nested(kTrackEvent, event));
  }

  void Begin(const Timeline::Slice& slice, int id) {
    WireWriter event;
    event.Integer(kType, kSliceBegin).Integer(kEventTrack, TrackUuid(static_cast<size_t>(slice.track)));
    event.Bytes(kCategory, SliceKindName(slice.kind)).Integer(kNameId, static_cast<uint64_t>(slice.name) + 1);
    const auto annotate = [&](std::string_view name, WireWriter value) {
      event.Nested(kAnnotation, value.Bytes(kAnnotationName, name));
    };
    const auto annotate_text = [&](std::string_view name, int text) {
      if (text >= 0)
        annotate(name, WireWriter().Bytes(kStringValue, timeline_.texts[static_cast<size_t>(text)]));
    };
    annotate_text("op", slice.op);
    annotate_text("counted", slice.counted);
    annotate_text("shapes", slice.signature);
    annotate_text("range", slice.range);
    if (slice.step >= 0) annotate("step", WireWriter().Signed(kIntValue, slice.step));
    if (slice.bytes >= 0) annotate("bytes", WireWriter().Signed(kIntValue, slice.bytes));
    for (const int arrow : leaving_[id]) event.Fixed(kFlow, static_cast<uint64_t>(arrow) + 1);
    for (const int arrow : arriving_[id]) event.Fixed(kFlowEnd, static_cast<uint64_t>(arrow) + 1);
    WireWriter packet;
    packet.Signed(kTimestamp, slice.start_ns).Nested(kTrackEvent, event);
    char& named = named_[static_cast<size_t>(slice.name)];
    if (named == 0) {
      named = 1;
      WireWriter name;
      name.Integer(kId, static_cast<uint64_t>(slice.name) + 1).Bytes(kText, timeline_.Name(slice));
      packet.Nested(kInternedData, WireWriter().Nested(kEventNames, name));
    }
    Emit(packet);
  }

  void WriteCounter(size_t number) {
    const Timeline::Counter& counter = timeline_.counters[number];
    const uint64_t uuid = TrackUuid(timeline_.tracks.size() + number);
    Describe(WireWriter()
                 .Integer(kUuid, uuid)
                 .Bytes(kTrackName, counter.name)
                 .Integer(kParent, ProcessUuid(counter.process))
                 .Nested(kCounter, WireWriter().Integer(kUnit, kUnitBytes))
                 .Integer(kRank, timeline_.tracks.size() + number));
    for (const auto& [time, value] : counter.points) {
      Event(time,
            WireWriter().Integer(kType, kCounterValue).Integer(kEventTrack, uuid).Signed(kValue, value));
    }
  }

  const Timeline& timeline_;
  const ExportOutput& output_;
  Rows<> leaving_, arriving_;  // arrows by slice
  std::vector<char> named_;    // texts that were interned
  bool first_ = true;
};

}  // namespace

void WritePerfetto(const TraceRun& run, const ExportOutput& output) {
  const Timeline timeline = MakeTimeline(run);
  PerfettoWriter(timeline, output).Write();
}

}  // namespace lanescope::traces
