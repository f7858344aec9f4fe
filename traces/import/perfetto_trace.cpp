// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of Perfetto's trace_packet.proto, track_event.proto and their like.
#include "traces/import/perfetto_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "traces/import/gzip_stream.h"
#include "traces/import/kineto_fields.h"
#include "traces/import/perfetto_state.h"
#include "traces/import/rocm_copy.h"
#include "traces/store/kernel_name.h"

namespace lanescope::traces {
namespace {

using Kind = ImportEvent::Kind;

// TrackEvent.Type.
enum SliceType : int64_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };

// Notes of rocprofv3 beside a slice.
struct SliceFacts {
  int64_t correlation = -1, thread = -1, bytes = 0, block = 0, grid = 0, shared_bytes = 0;
  std::string_view agent, from, to;
};

struct OpenSlice {
  int64_t start_ns = 0, process = -1;
  std::string_view name, category;
  SliceFacts facts;
};

// The numbers in brackets of "COMPUTE AGENT [2] STREAM [1] (GPU)"; -1: there are no such.
std::pair<int64_t, int64_t> NumbersInBrackets(std::string_view text) {
  std::pair<int64_t, int64_t> numbers{-1, -1};
  for (int64_t* number : {&numbers.first, &numbers.second}) {
    const size_t open = text.find('['), close = text.find(']', std::min(open, text.size()));
    if (open == std::string_view::npos || close == std::string_view::npos) break;
    *number = IdOfText(text.substr(open + 1, close - open - 1)).value_or(-1);
    text.remove_prefix(close + 1);
  }
  return numbers;
}

class PerfettoReader {
 public:
  explicit PerfettoReader(const ImportSource& source) : source_(source) { trace_.format = "Perfetto"; }

  // Tracks may be described behind the events on them.
  ImportTrace Read(std::string_view bytes) {
    ForEachPacket(bytes, [this](WireMessage packet) {
      while (packet.Next()) {
        if (packet.field() == PerfettoPacket::kTrackDescriptor) tracks_.Add(packet.Nested());
      }
    });
    FindAgents();
    ForEachPacket(bytes, [this](const WireMessage& packet) { AddPacket(ReadPerfettoPacket(packet)); });
    for (const auto& [track, slices] : open_) trace_.skipped += std::ssize(slices);
    if (trace_.events.empty() && trace_.skipped == 0)
      Throw(Code::kInvalidArgument, "{} holds no slices of track events", source_.path);
    if (const std::set<int64_t> pids = tracks_.Processes(); pids.size() == 1) trace_.process = *pids.begin();
    return std::move(trace_);
  }

 private:
  template <typename Visit>
  void ForEachPacket(std::string_view bytes, const Visit& visit) {
    WireMessage trace(bytes, &source_.path);
    while (trace.Next()) {
      CheckImportGoesOn(source_.cancelled);
      if (trace.field() == 1) visit(trace.Nested());
    }
  }

  // GPUs are numbered among themselves, agents with the processors.
  void FindAgents() {
    std::set<int64_t> agents;
    tracks_.ForEach([&](const PerfettoTrack& track) {
      if (track.name.ends_with("(GPU)")) agents.insert(NumbersInBrackets(track.name).first);
    });
    for (const int64_t agent : agents) gpus_.emplace(agent, std::ssize(gpus_));
  }

  void AddPacket(const PerfettoPacket& packet) {
    if (packet.is_compressed) return trace_.LeaveOut("compressed packets");
    PerfettoSequence& sequence = sequences_[packet.sequence];
    const std::optional<int64_t> time = sequence.Take(packet);
    if (!packet.event) return packet.is_other ? trace_.LeaveOut("packets without track events") : void();
    WireMessage event = *packet.event;
    int64_t type = 0, track = sequence.default_track();
    OpenSlice slice;
    slice.process = packet.process;
    while (event.Next()) {
      switch (event.field()) {
        case 3:
          slice.category = sequence.Category(event.Integer());
          break;
        case 4:
          AddNote(sequence, event.Nested(), &slice.facts);
          break;
        case 9:
          type = event.Integer();
          break;
        case 10:
          slice.name = sequence.Name(event.Integer());
          break;
        case 11:
          track = event.Integer();
          break;
        case 22:
          slice.category = event.Bytes();
          break;
        case 23:
          slice.name = event.Bytes();
          break;
        default:
          break;
      }
    }
    if (type == kInstant) return trace_.LeaveOut("instants");
    if (type == kCounter) return trace_.LeaveOut("counters");
    if (!time || (type != kBegin && type != kEnd)) return void(++trace_.skipped);
    std::vector<OpenSlice>& open = open_[track];
    if (type == kBegin) {
      slice.start_ns = *time;
      return open.push_back(slice);
    }
    if (open.empty()) return void(++trace_.skipped);
    Add(open.back(), tracks_.Of(track), *time);
    open.pop_back();
  }

  static void AddNote(const PerfettoSequence& sequence, WireMessage note, SliceFacts* facts) {
    std::string_view name, text;
    int64_t number = 0;
    while (note.Next()) {
      if (note.field() == 1) name = sequence.Note(note.Integer());
      if (note.field() == 10) name = note.Bytes();
      if (note.field() == 3 || note.field() == 4 || note.field() == 7) number = note.Integer();
      if (note.field() == 6) text = note.Bytes();
      if (note.field() == 17) text = sequence.Text(note.Integer());
    }
    if (name == "corr_id" && number > 0) facts->correlation = number;
    if (name == "tid") facts->thread = number;
    if (name == "copy_bytes") facts->bytes = std::max<int64_t>(0, number);
    if (name == "workgroup_size") facts->block = number;
    if (name == "grid_size") facts->grid = number;
    if (name == "group_segment_size") facts->shared_bytes = number;
    if (name == "agent") facts->agent = text;
    if (name == "src_agent") facts->from = text;
    if (name == "dst_agent") facts->to = text;
  }

  void Add(const OpenSlice& slice, const PerfettoTrack& track, int64_t end_ns) {
    if (slice.start_ns <= 0 || slice.name.empty() || !UsableTimes(slice.start_ns, end_ns - slice.start_ns))
      return void(++trace_.skipped);
    ImportEvent event;
    event.start_ns = slice.start_ns;
    event.end_ns = end_ns;
    event.correlation = slice.facts.correlation;
    if (slice.category == "kernel_dispatch") return AddKernel(slice, track, event);
    if (slice.category == "memory_copy") return AddCopy(slice, track, event);
    const bool is_call = slice.category == "hip_api" || slice.category == "hsa_api" ||
                         slice.category == "rccl_api" || slice.category == "rocdecode_api" ||
                         slice.category == "rocjpeg_api";
    event.kind = is_call ? Kind::kApiCall : Kind::kRange;
    event.name = names_.Intern(slice.name);
    if (!is_call) event.correlation = -1;
    event.pid = track.process >= 0 ? track.process : std::max<int64_t>(0, slice.process);
    event.tid = slice.facts.thread >= 0 ? slice.facts.thread : ThreadOf(track, event.pid);
    trace_.events.push_back(event);
  }

  // A track that is no thread's becomes one, called after it.
  int64_t ThreadOf(const PerfettoTrack& track, int64_t pid) {
    constexpr int64_t kFirst = 0x800000;  // beyond those of Linux
    const int64_t thread = track.thread >= 0 ? track.thread : kFirst + track.number;
    if (named_.emplace(pid, thread).second && !track.name.empty())
      trace_.threads.push_back({pid, thread, names_.Intern(track.name)});
    return thread;
  }

  // Sizes are products of the sides, and grids in threads.
  void AddKernel(const OpenSlice& slice, const PerfettoTrack& track, ImportEvent event) {
    event.kind = Kind::kKernel;
    event.name = names_.Intern(slice.name);
    event.brief = names_.Intern(ShortKernelName(slice.name));
    const auto [agent, stream] = NumbersInBrackets(track.name);
    event.device = GpuOf(agent);
    event.stream = std::max<int64_t>(0, stream);
    const auto& facts = slice.facts;
    if (facts.block > 0 && facts.block <= INT32_MAX && facts.grid > 0) {
      ImportLaunch launch;
      const auto blocks = (facts.grid - 1) / facts.block + 1;
      launch.block = {static_cast<int32_t>(facts.block), 1, 1};
      launch.grid = {static_cast<int32_t>(std::min<int64_t>(blocks, INT32_MAX)), 1, 1};
      launch.shared_bytes = static_cast<int32_t>(std::clamp<int64_t>(facts.shared_bytes, 0, INT32_MAX));
      const auto [entry, is_new] = launches_.try_emplace(launch, static_cast<int>(trace_.launches.size()));
      if (is_new) trace_.launches.push_back(launch);
      event.launch = entry->second;
    }
    trace_.events.push_back(event);
  }

  // On a GPU: the one that it goes to, or comes from.
  void AddCopy(const OpenSlice& slice, const PerfettoTrack& track, ImportEvent event) {
    event.kind = Kind::kCopy;
    const bool from_host = slice.name.find("HOST_TO_") != std::string_view::npos;
    const bool to_host = slice.name.ends_with("TO_HOST");
    const int64_t from = from_host ? -1 : AgentOf(slice.facts.from);
    const int64_t to = to_host ? -1 : AgentOf(slice.facts.to);
    const RocmEnds ends{from_host, to_host, from == to};
    event.ends = EndsOfRocm(ends);
    if (!from_host || !to_host) event.device = GpuOf(to_host ? from : to);
    if (IsBetweenGpus(ends)) {
      event.src_device = GpuOf(from);
      event.dst_device = GpuOf(to);
    }
    event.stream = std::max<int64_t>(0, NumbersInBrackets(track.name).second);
    event.bytes = slice.facts.bytes;
    event.name = names_.Intern("copy");
    trace_.events.push_back(event);
  }

  // "Agent-2", "GPU-0": the number.
  static int64_t AgentOf(std::string_view text) {
    const size_t line = text.rfind('-');
    return line == std::string_view::npos ? -1 : IdOfText(text.substr(line + 1)).value_or(-1);
  }
  int64_t GpuOf(int64_t agent) { return gpus_.try_emplace(agent, std::ssize(gpus_)).first->second; }

  const ImportSource& source_;
  ImportTrace trace_;
  ImportNames names_{&trace_};
  PerfettoTracks tracks_;
  std::map<int64_t, PerfettoSequence> sequences_;
  std::map<int64_t, std::vector<OpenSlice>> open_;  // by track, the innermost last
  std::map<int64_t, int64_t> gpus_;                 // by agent
  std::map<ImportLaunch, int> launches_;
  std::set<std::pair<int64_t, int64_t>> named_;  // threads, by process
};

}  // namespace

bool IsPerfetto(const ForeignFile& file) {
  constexpr std::array<std::string_view, 4> kEndings = {".pftrace", ".pftrace.gz", ".perfetto-trace",
                                                        ".perfetto-trace.gz"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return file.name.ends_with(ending); });
}

ImportTrace ReadPerfetto(const ImportSource& source) {
  const std::string bytes = InflatedFile(source.path, source.cancelled);
  return PerfettoReader(source).Read(bytes);
}

}  // namespace lanescope::traces
