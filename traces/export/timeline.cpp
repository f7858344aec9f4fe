#include "traces/export/timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "core/base/printable.h"
#include "core/runs/run_view.h"
#include "traces/export/track_names.h"
#include "traces/export/track_rows.h"
#include "traces/export/work_order.h"
#include "traces/read/activity_names.h"
#include "traces/read/run_tables.h"

namespace lanescope::traces {
namespace {

constexpr int64_t kAfterStreams = INT64_MAX;  // where a device's tracks of messages stand

class TimelineBuilder {
 public:
  explicit TimelineBuilder(const TraceRun& run) : run_(run), names_(run) {
    for (const std::string& text : run.texts) Text(Printable(text));
    for (const TraceNode& node : run.nodes) nodes_.emplace(node.id, &node);
  }

  Timeline Build() {
    AddSteps();
    AddHosts();
    AddLaunches();
    AddCopies();
    AddMemsets();
    AddAnnotations();
    AddTracks();
    AddMemory();
    AddDependencies();
    timeline_.arrows.insert(timeline_.arrows.end(), messages_.begin(), messages_.end());
    MoveToZero();
    return std::move(timeline_);
  }

 private:
  int Text(std::string text) {
    timeline_.texts.push_back(std::move(text));
    return static_cast<int>(timeline_.texts.size()) - 1;
  }
  // A text that repeats.
  int Shared(const std::string& text) {
    const auto [entry, is_new] = shared_.try_emplace(text, 0);
    if (is_new) entry->second = Text(Printable(text));
    return entry->second;
  }
  int NameOr(int text, const char* none) { return text >= 0 ? text : Shared(none); }

  int Add(const TrackKey& key, const Timeline::Slice& slice) {
    const int number = static_cast<int>(timeline_.slices.size());
    timeline_.slices.push_back(slice);
    rows_[{names_.PlaceOf(key), key}].push_back({slice.start_ns, slice.end_ns, number});
    return number;
  }

  void AddSteps() {
    for (const TraceStep& step : run_.steps) {
      Timeline::Slice slice{SliceKind::kStep, step.start_ns, step.end_ns};
      slice.name = Text(fmt::format("step {}{}", step.step, step.counts ? "" : " (disturbed)"));
      slice.step = step.step;
      Add({TrackKey::Group::kSteps, 0, 0}, slice);
    }
  }

  void AddHosts() {
    for (const TraceRange& range : run_.ranges) {
      Timeline::Slice slice{SliceKind::kRange, range.start_ns, range.end_ns};
      slice.name = NameOr(range.text, "no text");
      if (range.details >= 0) slice.signature = run_.operators[static_cast<size_t>(range.details)].shapes;
      Add({TrackKey::Group::kHost, GlobalPidOf(range.global_tid), range.process_wide ? -1 : range.global_tid},
          slice);
    }
    for (const TraceApiCall& call : run_.api_calls) {
      Timeline::Slice slice{SliceKind::kApiCall, call.start_ns, call.end_ns};
      slice.name = NameOr(call.name, "no name");
      slice.step = call.step;
      slice.range = RangeText(call.range);
      calls_.push_back(Add({TrackKey::Group::kHost, GlobalPidOf(call.global_tid), call.global_tid}, slice));
    }
  }

  // The number of its slice.
  template <typename Activity>
  int AddActivity(const Activity& activity, Timeline::Slice slice) {
    slice.start_ns = activity.start_ns;
    slice.end_ns = activity.end_ns;
    slice.step = activity.step;
    slice.signature = activity.signature;
    slice.range = RangeText(activity.range);
    const int number = Add({TrackKey::Group::kDevice, activity.device, activity.stream}, slice);
    if (activity.api >= 0) timeline_.arrows.push_back({calls_[static_cast<size_t>(activity.api)], number});
    if (activity.command >= 0 && activity.step >= 0)
      works_.push_back({activity.step, activity.schedule, activity.command, number});
    return number;
  }

  void AddLaunches() {
    auto moved = run_.collectives.begin();
    for (size_t i = 0; i < run_.launches.size(); ++i) {
      const TraceLaunch& launch = run_.launches[i];
      Timeline::Slice slice;
      while (moved != run_.collectives.end() && static_cast<size_t>(moved->launch) < i) ++moved;
      if (moved != run_.collectives.end() && static_cast<size_t>(moved->launch) == i) {
        if (moved->bytes > 0) slice.bytes = moved->bytes;
        slice.collective = moved->kind;
        slice.group = moved->group;
        slice.src_rank = moved->src_rank;
        slice.dst_rank = moved->dst_rank;
      }
      slice.name = NameOr(launch.name, "no name");
      const bool communication = IsCommunication(timeline_.texts[static_cast<size_t>(slice.name)]) ||
                                 IsCommunication(run_.Text(launch.op));
      if (communication) slice.kind = SliceKind::kCommunication;
      if (launch.op != launch.name) slice.op = launch.op;
      names_.Note(launch.device, launch.stream, communication);
      AddActivity(launch, slice);
    }
  }

  void AddCopies() {
    for (const TraceCopy& copy : run_.copies) {
      names_.Note(copy.device, copy.stream, false);
      Timeline::Slice slice{SliceKind::kCopy};
      const auto node = nodes_.find(copy.node);
      slice.name = Shared(fmt::format("{} {} -> {}",
                                      node == nodes_.end() ? NvprofCopyName(copy.kind) : node->second->name,
                                      run_.DeviceLabel(copy.src), run_.DeviceLabel(copy.dst)));
      if (copy.bytes > 0 || !run_.commands.empty()) slice.bytes = copy.bytes;
      slice.copy_class = copy.copy_class;
      AddOtherEnd(copy, AddActivity(copy, slice));
    }
  }

  int TaskOf(int device) const { return names_.TaskOf({TrackKey::Group::kDevice, device}); }

  // Of a copy between tasks, in that task of the two whose device does not carry it out.
  void AddOtherEnd(const TraceCopy& copy, int number) {
    const int from = TaskOf(copy.src), to = TaskOf(copy.dst);
    if (from == to || from < 0 || to < 0) return;
    const bool sent = TaskOf(copy.device) == to;
    Timeline::Slice slice = timeline_.slices[static_cast<size_t>(number)];
    slice.kind = SliceKind::kMessage;
    const int other = Add({TrackKey::Group::kDevice, sent ? copy.src : copy.dst, kAfterStreams,
                           sent ? TrackKey::Of::kSent : TrackKey::Of::kReceived},
                          slice);
    messages_.push_back(sent ? Timeline::Arrow{other, number} : Timeline::Arrow{number, other});
  }

  void AddMemsets() {
    for (const TraceMemset& memset : run_.memsets) {
      names_.Note(memset.device, memset.stream, false);
      Timeline::Slice slice{SliceKind::kMemset};
      slice.name = Shared(std::string(kMemsetName));
      slice.bytes = memset.bytes;
      AddActivity(memset, slice);
    }
  }

  void AddAnnotations() {
    for (const TraceDeviceRange& range : run_.device_ranges) {
      Timeline::Slice slice{SliceKind::kRange, range.start_ns, range.end_ns};
      slice.name = NameOr(range.text, "no text");
      slice.counted = range.counted;
      Add({TrackKey::Group::kDevice, range.device, range.stream, TrackKey::Of::kAnnotations}, slice);
    }
  }

  int RangeText(int range) const { return range < 0 ? -1 : run_.ranges[static_cast<size_t>(range)].text; }

  int ProcessOf(const TrackKey& key) {
    const int task = names_.TaskOf(key);
    const auto [entry, is_new] = processes_.try_emplace({key.group, task, task >= 0 ? 0 : key.process},
                                                        static_cast<int>(timeline_.processes.size()));
    if (!is_new) return entry->second;
    Timeline::Process& process = timeline_.processes.emplace_back();
    process.name = Printable(names_.ProcessName(key));
    process.of_profiler = key.group == TrackKey::Group::kHost && IsNoProcess(key.process);
    process.task = task;
    if (task >= 0) process.clock = ClockText(run_.tasks[static_cast<size_t>(task)]);
    return entry->second;
  }

  static int DeviceOf(const TrackKey& key) {
    const bool of_device = key.group == TrackKey::Group::kDevice && key.of != TrackKey::Of::kAnnotations;
    return of_device ? static_cast<int>(key.process) : -1;
  }

  void AddTracks() {
    for (auto& [place, slices] : rows_) {
      const TrackKey& key = place.second;
      const int process = ProcessOf(key);
      const std::string name = Printable(names_.TrackName(key));
      int row = 0;
      for (std::vector<int>& of_row : NestInRows(std::move(slices))) {
        const int track = static_cast<int>(timeline_.tracks.size());
        for (const int slice : of_row) timeline_.slices[static_cast<size_t>(slice)].track = track;
        timeline_.tracks.push_back({process, ++row == 1 ? name : fmt::format("{} [{}]", name, row),
                                    std::move(of_row), DeviceOf(key),
                                    key.group == TrackKey::Group::kHost ? key.track & 0xffffff : key.track});
      }
    }
  }

  void AddMemory() {
    std::map<int, std::vector<std::pair<int64_t, int64_t>>> points;
    for (const TraceMemoryPoint& point : run_.memory)
      points[point.device].emplace_back(point.time_ns, point.bytes);
    for (auto& [device, of_device] : points) {
      std::stable_sort(of_device.begin(), of_device.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      const TrackKey key{TrackKey::Group::kDevice, device};
      timeline_.counters.push_back(
          {ProcessOf(key), names_.DevicePrefix(key) + "memory (bytes)", std::move(of_device)});
    }
  }

  // A run without API calls says by its schedule what waited for what.
  void AddDependencies() {
    if (!timeline_.arrows.empty() || works_.empty()) return;
    RunTables tables = TablesOf(run_);
    const RunNumbers numbers = tables.numbers;
    const Rows<> before = WorkBefore(std::move(tables));
    std::map<std::pair<int, int>, int> ran;  // by step and command
    const auto command_of = [&](const Work& work) {
      return numbers.CommandIndex(work.schedule, work.command);
    };
    for (const Work& work : works_) ran.emplace(std::pair(work.step, command_of(work)), work.slice);
    for (const Work& work : works_) {
      const int command = command_of(work);
      if (command < 0) continue;
      for (const int earlier : before[command]) {
        const auto found = ran.find({work.step, earlier});
        if (found != ran.end()) timeline_.arrows.push_back({found->second, work.slice});
      }
    }
  }

  // Viewers know no time before zero.
  void MoveToZero() {
    int64_t first = 0;
    for (const Timeline::Slice& slice : timeline_.slices) first = std::min(first, slice.start_ns);
    for (const Timeline::Counter& counter : timeline_.counters) {
      if (!counter.points.empty()) first = std::min(first, counter.points.front().first);
    }
    if (first == 0) return;
    const auto move = [first](int64_t* time) {
      if (__builtin_sub_overflow(*time, first, time)) *time = INT64_MAX;
    };
    for (Timeline::Slice& slice : timeline_.slices) {
      move(&slice.start_ns);
      move(&slice.end_ns);
    }
    for (Timeline::Counter& counter : timeline_.counters) {
      for (auto& [time, value] : counter.points) move(&time);
    }
  }

  struct Work {
    int step = 0, schedule = 0, command = 0, slice = 0;
  };

  const TraceRun& run_;
  TrackNames names_;
  Timeline timeline_;
  std::unordered_map<std::string, int> shared_;
  std::unordered_map<int, const TraceNode*> nodes_;
  std::map<std::pair<int64_t, TrackKey>, std::vector<RowSlice>> rows_;  // by TrackNames::PlaceOf
  std::map<std::tuple<TrackKey::Group, int, int64_t>, int> processes_;  // by task, or by itself
  std::vector<int> calls_;                                              // slice by API call
  std::vector<Work> works_;
  std::vector<Timeline::Arrow> messages_;  // from their senders' ends to their receivers'
};

}  // namespace

std::string_view SliceKindName(SliceKind kind) {
  switch (kind) {
    case SliceKind::kStep:
      return "step";
    case SliceKind::kKernel:
      return "kernel";
    case SliceKind::kCommunication:
      return "communication";
    case SliceKind::kCopy:
      return "memcpy";
    case SliceKind::kMemset:
      return "memset";
    case SliceKind::kApiCall:
      return "api";
    case SliceKind::kRange:
      return "range";
    case SliceKind::kMessage:
      return "message";
  }
  return "";
}

Timeline MakeTimeline(const TraceRun& run) { return TimelineBuilder(run).Build(); }

}  // namespace lanescope::traces
