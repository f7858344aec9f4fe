// SPDX-License-Identifier: Apache-2.0
#include "traces/export/timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/base/printable.h"
#include "traces/export/timeline_slices.h"
#include "traces/export/track_rows.h"
#include "traces/export/work_order.h"
#include "traces/read/run_tables.h"

namespace lanescope::traces {
namespace {

class TimelineBuilder : public TimelineSlices {
 public:
  void Begin(const TraceRun& run) override {
    TimelineSlices::Begin(run);
    AddSteps();
    AddRanges();
  }

  Timeline Finish() {
    AddAnnotations();
    AddTracks();
    AddMemory();
    AddDependencies();
    timeline_.arrows.insert(timeline_.arrows.end(), messages_.begin(), messages_.end());
    MoveToZero();
    for (const std::string& text : run().texts) timeline_.texts.push_back(Printable(text));
    timeline_.texts.insert(timeline_.texts.end(), own_texts().begin(), own_texts().end());
    return std::move(timeline_);
  }

 private:
  int Keep(const TrackKey& key, const Timeline::Slice& slice) override {
    const int number = static_cast<int>(timeline_.slices.size());
    timeline_.slices.push_back(slice);
    int& name = timeline_.slices.back().name;
    if (name >= kOwnTexts) name += static_cast<int>(run().texts.size()) - kOwnTexts;
    Row& row = rows_[{names().PlaceOf(key), key}];
    row.start_ns.push_back(slice.start_ns);
    row.end_ns.push_back(slice.end_ns);
    row.slices.push_back(number);
    return number;
  }
  void KeepCall(int slice) override { calls_.push_back(slice); }
  void KeepCause(int slice, const Cause& cause) override {
    if (cause.api >= 0) timeline_.arrows.push_back({calls_[static_cast<size_t>(cause.api)], slice});
    if (cause.command >= 0 && cause.step >= 0)
      works_.push_back({cause.step, cause.schedule, cause.command, slice});
  }
  void KeepMessage(int from, int to) override { messages_.push_back({from, to}); }

  int ProcessOf(const TrackKey& key) {
    const int task = names().TaskOf(key);
    const auto [entry, is_new] = processes_.try_emplace({key.group, task, task >= 0 ? 0 : key.process},
                                                        static_cast<int>(timeline_.processes.size()));
    if (!is_new) return entry->second;
    Timeline::Process& process = timeline_.processes.emplace_back();
    process.name = Printable(names().ProcessName(key));
    process.of_profiler = key.group == TrackKey::Group::kHost && IsNoProcess(key.process);
    process.task = task;
    if (task >= 0) process.clock = ClockText(run().tasks[static_cast<size_t>(task)]);
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
      const std::string name = Printable(names().TrackName(key));
      int row = 0;
      for (std::vector<int>& of_row : NestInRows(slices.start_ns, slices.end_ns)) {
        const int track = static_cast<int>(timeline_.tracks.size());
        for (int& slice : of_row) {
          slice = slices.slices[static_cast<size_t>(slice)];
          timeline_.slices[static_cast<size_t>(slice)].track = track;
        }
        timeline_.tracks.push_back({process, ++row == 1 ? name : fmt::format("{} [{}]", name, row),
                                    std::move(of_row), DeviceOf(key),
                                    key.group == TrackKey::Group::kHost ? key.track & 0xffffff : key.track});
      }
    }
  }

  void AddMemory() {
    std::map<int, std::vector<std::pair<int64_t, int64_t>>> points;
    for (const TraceMemoryPoint& point : run().memory)
      points[point.device].emplace_back(point.time_ns, point.bytes);
    for (auto& [device, of_device] : points) {
      std::stable_sort(of_device.begin(), of_device.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      const TrackKey key{TrackKey::Group::kDevice, device};
      timeline_.counters.push_back(
          {ProcessOf(key), names().DevicePrefix(key) + "memory (bytes)", std::move(of_device)});
    }
  }

  // A run without API calls says by its schedule what waited for what.
  void AddDependencies() {
    if (!timeline_.arrows.empty() || works_.empty()) return;
    RunTables tables = TablesOf(run());
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

  struct Row {
    std::vector<int64_t> start_ns, end_ns;
    std::vector<int> slices;
  };

  Timeline timeline_;
  std::map<std::pair<int64_t, TrackKey>, Row> rows_;                    // by TrackNames::PlaceOf
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

Timeline MakeTimeline(const TraceRun& run) {
  TimelineBuilder builder;
  Replay(run, &builder);
  return builder.Finish();
}

}  // namespace lanescope::traces
