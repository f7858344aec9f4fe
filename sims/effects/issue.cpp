// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/issue.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "sims/effects/cost_file.h"
#include "sims/engine/effect_constants.h"
#include "sims/engine/simulator.h"
#include "sims/steps/step_starts.h"

namespace lanescope::sims {
namespace {

constexpr double kMostFeedByteNs = 1000;

void ReadIssue(CostFileReader* file, EffectSet* effects) {
  // Files of version 0.1 have the time that a stream's commands were once thought to be apart. It says
  // nothing; the key goes with the version after 0.2, as keys with other names do.
  for (const DeviceKind kind : kDeviceKinds) {
    JsonObject* const device = file->Gaps(kind);
    if (device != nullptr && device->Has("issue_ns")) Nanoseconds(device, "issue_ns");
  }
  if (!file->file().Has("streams")) return;
  JsonObject& part = file->At("streams");
  Issue issue;
  issue.times.single_ns = Nanoseconds(&part, "single_ns");
  issue.times.segment_ns = Nanoseconds(&part, "segment_ns");
  issue.times.recorded_ns = Nanoseconds(&part, "recorded_ns");
  issue.times.feed_byte_ns = NumberIn(&part, "feed_byte_ns", 0, kMostFeedByteNs);
  effects->Put(issue);
}

void WriteIssue(const EffectSet& effects, CostFileWriter* file) {
  const auto* issue = effects.Find<Issue>();
  if (issue == nullptr) return;
  nlohmann::json& part = file->file()["streams"];
  part["single_ns"] = issue->times.single_ns;
  part["segment_ns"] = issue->times.segment_ns;
  part["recorded_ns"] = issue->times.recorded_ns;
  part["feed_byte_ns"] = issue->times.feed_byte_ns;
}

// A unit of a step, as its commands and their dependencies tell.
struct Unit {
  int64_t begin = INT64_MAX;  // of its first command
  int64_t host = INT64_MIN;   // when the last command of the host that it waits for had ended
  int64_t fed_bytes = 0;
  bool is_segment = false;
};

// By the first command, of those in which something ran.
std::map<CommandId, Unit> UnitsOf(const StepStarts& starts, const StepStarts::Step& step,
                                  const Rows<CommandId, CommandId>& predecessors) {
  const Schedule& schedule = starts.schedule();
  std::map<int, CommandId> first_of;  // by segment
  std::map<CommandId, Unit> units;
  for (const CommandId c : schedule.commands.ids()) {
    if (!starts.IsStreamCommand(c)) continue;
    const int segment = starts.SegmentOf(c);
    const CommandId first = segment < 0 ? c : first_of.emplace(segment, c).first->second;
    Unit& unit = units[first];
    unit.is_segment = segment >= 0;
    for (const CommandId p : predecessors[c]) {
      if (!starts.IsStreamCommand(p)) unit.host = std::max(unit.host, step.End(p));
    }
    const Command& command = schedule.commands[c];
    if (!command.is_work() || RunsNothing(schedule, c)) continue;
    unit.begin = std::min(unit.begin, step.Begin(c));
    if (command.kind == CommandKind::kCopy &&
        schedule.RootValue(schedule.Inputs(command)[0]).storage == Storage::kFeed)
      unit.fed_bytes += command.bytes;
  }
  std::erase_if(units, [](const auto& unit) { return unit.second.begin == INT64_MAX; });
  return units;
}

// When the host began its first command of the step, and so issued what waits for none; INT64_MIN: it has
// none.
int64_t HostBegin(const StepStarts& starts, const StepStarts::Step& step) {
  int64_t begin = INT64_MAX;
  for (const CommandStart& start : step.starts) {
    if (!starts.IsStreamCommand(start.command)) begin = std::min(begin, step.Begin(start.command));
  }
  return begin < INT64_MAX ? begin : INT64_MIN;
}

// Adds commands that began late in a segment which was launched while the streams were idle, though nothing
// held them up: the time since its first command began, for each command before them.
void AddLate(const StepStarts& starts, const StepStarts::Step& step, std::vector<double>* late) {
  constexpr int kBefore = 16;  // at least: the first ones begin later than that
  constexpr int64_t kLateNs = 10'000;
  std::map<int, std::vector<const CommandStart*>> segments;
  for (const CommandStart& start : step.starts) {
    if (starts.SegmentOf(start.command) >= 0) segments[starts.SegmentOf(start.command)].push_back(&start);
  }
  for (auto& [segment, commands] : segments) {
    const auto began = [&](const CommandStart* start) { return step.Begin(start->command); };
    const int64_t begin = began(*std::ranges::min_element(commands, {}, began));
    const bool idle = std::ranges::none_of(step.starts, [&](const CommandStart& other) {
      return starts.IsStreamCommand(other.command) && step.Begin(other.command) < begin &&
             step.End(other.command) > begin - kLateNs;
    });
    if (!idle) continue;
    std::ranges::sort(commands, {}, &CommandStart::command);
    for (size_t before = kBefore; before < commands.size(); ++before) {
      const CommandStart& start = *commands[before];
      int64_t ready = std::max(begin, step.Ready(start));
      if (start.previous.exists()) ready = std::max(ready, step.End(start.previous));
      if (step.Begin(start.command) - ready < kLateNs) continue;
      late->push_back(static_cast<double>(step.Begin(start.command) - begin) / static_cast<double>(before));
    }
  }
}

// The least, since some wait for other reasons; not longer than twice what recordings show.
int64_t RecordedNs(const std::vector<double>& late) {
  const int64_t usual = kEffectConstants.recorded_issue_ns;
  if (late.empty()) return usual;
  const int64_t least = std::llround(*std::ranges::min_element(late));
  return least < 2 * usual ? least : usual;
}

// Fits units that begin while all streams are idle, since they wait for the host: the time that passes is
// what their thread takes. One launch by itself has what microbenchmarks say, for streams are hardly ever
// idle before it.
void FitIssue(const StepStarts& starts, EffectSet* effects) {
  const Schedule& schedule = starts.schedule();
  if (schedule.issue.empty()) return;
  const auto predecessors = PredecessorsOf(schedule);
  std::vector<double> segments, late;
  std::vector<std::pair<double, double>> feeds;  // bytes, ns
  for (const StepStarts::Step& step : starts.steps()) {
    AddLate(starts, step, &late);
    std::vector<Unit> units;
    for (const auto& [first, unit] : UnitsOf(starts, step, predecessors)) units.push_back(unit);
    const int64_t begin = HostBegin(starts, step);
    for (Unit& unit : units) {
      if (unit.host == INT64_MIN && unit.fed_bytes > 0) unit.host = begin;
      if (unit.host == INT64_MIN) continue;
      int64_t busy_until = INT64_MIN;
      for (const CommandStart& start : step.starts) {
        if (starts.IsStreamCommand(start.command) && step.Begin(start.command) < unit.begin)
          busy_until = std::max(busy_until, step.End(start.command));
      }
      if (busy_until > unit.host) continue;
      const auto passed = static_cast<double>(unit.begin - unit.host);
      if (unit.fed_bytes >= kEffectConstants.large_feed_bytes) {
        feeds.emplace_back(static_cast<double>(unit.fed_bytes), passed);
      } else if (unit.is_segment) {
        segments.push_back(passed);
      }
    }
  }
  Issue issue;
  issue.times.single_ns = kEffectConstants.single_issue_ns;
  issue.times.recorded_ns = RecordedNs(late);
  issue.times.segment_ns = segments.empty() ? kEffectConstants.segment_issue_ns : MedianOf(segments);
  std::vector<double> byte_ns;
  for (const auto& [bytes, ns] : feeds)
    byte_ns.push_back(std::max(0.0, ns - static_cast<double>(issue.times.segment_ns)) / bytes);
  if (!byte_ns.empty()) {
    std::ranges::nth_element(byte_ns, byte_ns.begin() + static_cast<ptrdiff_t>(byte_ns.size() / 2));
    issue.times.feed_byte_ns = byte_ns[byte_ns.size() / 2];
  } else {
    issue.times.feed_byte_ns = static_cast<double>(kEffectConstants.feed_byte_ps.value) * 1e-3;
  }
  effects->Put(issue);
}

}  // namespace

constinit const EffectKind Issue::kKind = {.name = "issue",
                                           .of = "GPU streams",
                                           .about = "a thread issues launches, copies and recorded segments",
                                           .source = "the calibrated run; of single launches one recording",
                                           .read = ReadIssue,
                                           .write = WriteIssue,
                                           .fit = FitIssue};

}  // namespace lanescope::sims
