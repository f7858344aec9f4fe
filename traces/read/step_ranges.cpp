// SPDX-License-Identifier: Apache-2.0
#include "traces/read/step_ranges.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/string_table.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {

bool HasStepRanges(Database& database) {
  using tables::kNvtxEvent;
  std::set<int64_t> step_ids;
  if (database.HasColumn(kNvtxEvent.sql_name(), kNvtxEvent[kNvtxEvent.text_id].name)) {
    for (const auto& [id, text] : ReadTexts(database)) {
      if (ParseStepText(text)) step_ids.insert(id);
    }
  }
  bool has = false;
  ReadRows(
      database, kNvtxEvent, {kNvtxEvent.text, kNvtxEvent.text_id, kNvtxEvent.domain}, [&](const auto& row) {
        if (row[kNvtxEvent.domain].value_or(0) != 0) return;
        has = has || (row.IsNull(kNvtxEvent.text) ? step_ids.contains(row[kNvtxEvent.text_id].value_or(-1))
                                                  : ParseStepText(row[kNvtxEvent.text]).has_value());
      });
  return has;
}

RangeSteps::RangeSteps(const TraceRun& run) : index_(run.api_calls) {
  CollectRanges(run);
  if (ranges_.empty()) return;
  for (const TraceSpan& span : run.spans) {
    if (span.unrecorded_ns > 0) interrupted_.push_back(span.start_ns);
  }
  calls_.reserve(run.api_calls.size());
  for (const TraceApiCall& call : run.api_calls) {
    const auto own = of_threads_.find(call.global_tid);
    const int step = own == of_threads_.end() ? -1 : At(own->second, call.start_ns);
    calls_.push_back(step >= 0 ? step : AtTime(GlobalPidOf(call.global_tid), call.start_ns));
  }
}

// The ranges of the best kind.
void RangeSteps::CollectRanges(const TraceRun& run) {
  std::vector<std::optional<StepText>> parsed(run.texts.size());
  for (size_t i = 0; i < run.texts.size(); ++i) parsed[i] = ParseStepText(run.texts[i]);
  const auto text_of = [&](const TraceRange& range) {
    return range.text < 0 || range.of_library ? std::nullopt : parsed[static_cast<size_t>(range.text)];
  };
  std::pair<int, int> best(INT32_MAX, 0);  // kind, 1: without numbers
  const auto kind_of = [](const StepText& text) { return std::pair(text.rank, text.number < 0 ? 1 : 0); };
  for (const TraceRange& range : run.ranges) {
    if (const auto text = text_of(range)) best = std::min(best, kind_of(*text));
  }
  for (const TraceRange& range : run.ranges) {
    const auto text = text_of(range);
    if (!text || kind_of(*text) != best) continue;
    ranges_[GlobalPidOf(range.global_tid)].push_back(
        {range.start_ns, range.open ? INT64_MAX : range.end_ns, text->number, range.global_tid, text->work});
  }
  for (auto& [process, ranges] : ranges_) {
    std::set<int64_t> numbers;
    for (const Range& range : ranges) numbers.insert(range.number);
    if (numbers.size() != ranges.size() || *numbers.begin() < 0) {
      for (size_t i = 0; i < ranges.size(); ++i) ranges[i].number = static_cast<int64_t>(i);
    }
    for (const Range& range : ranges) of_threads_[range.global_tid].push_back(range);
  }
}

int RangeSteps::AtTime(int64_t global_pid, int64_t time) const {
  auto process = ranges_.find(global_pid);
  if (process == ranges_.end() && (global_pid == 0 && ranges_.size() == 1)) process = ranges_.begin();
  return process == ranges_.end() ? -1 : At(process->second, time);
}

int RangeSteps::At(const std::vector<Range>& ranges, int64_t time) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), time,
                       [](int64_t value, const Range& range) { return value < range.start_ns; });
  if (after == ranges.begin()) return -1;
  const Range& range = *std::prev(after);
  return time <= range.end_ns ? static_cast<int>(range.number) : -1;
}

int RangeSteps::OfLaunch(int api_call, int64_t global_pid, int64_t start_ns) const {
  if (api_call >= 0) return OfCall(api_call);
  return calls_.empty() ? AtTime(global_pid, start_ns) : -1;
}

StepWindows RangeSteps::Windows() const {
  StepWindows windows;
  for (const int64_t time : interrupted_) windows.Interrupt(time);
  return windows;
}

std::vector<TraceStep> RangeSteps::StepsOf(const StepWindows& windows) const {
  if (!windows.empty()) return WithWork(windows.Steps());
  StepWindows of_ranges = Windows();
  for (const auto& [process, ranges] : ranges_) {
    for (const Range& range : ranges)
      of_ranges.Add(static_cast<int>(range.number), range.start_ns, std::min(range.end_ns, kMaxTime));
  }
  std::vector<TraceStep> steps = of_ranges.Steps();
  // Between two ranges is no step.
  for (TraceStep& step : steps) step.end_ns = std::min(step.end_ns, of_ranges.EndOf(step.step));
  return WithWork(std::move(steps));
}

// Ranks say the same of one step.
std::vector<TraceStep> RangeSteps::WithWork(std::vector<TraceStep> steps) const {
  std::map<int64_t, StepWork> work;
  for (const auto& [process, ranges] : ranges_) {
    for (const Range& range : ranges) {
      if (range.work.known()) work.emplace(range.number, range.work);
    }
  }
  for (TraceStep& step : steps) {
    if (const auto said = work.find(step.step); said != work.end()) step.work = said->second;
  }
  return steps;
}

std::vector<int> RangeSteps::WithoutWork(const std::vector<TraceStep>& steps) const {
  std::set<int> numbers;
  for (const auto& [process, ranges] : ranges_) {
    for (const Range& range : ranges) numbers.insert(static_cast<int>(range.number));
  }
  for (const TraceStep& step : steps) numbers.erase(step.step);
  return {numbers.begin(), numbers.end()};
}

void ResolveSteps(std::vector<StepPlace>* places) {
  const auto unknown = [](const StepPlace& place) { return place.step == kStepOfNeighbours; };
  if (std::ranges::none_of(*places, unknown)) return;
  struct Neighbours {
    int on_stream = kStepOfNeighbours, on_device = kStepOfNeighbours;
  };
  std::vector<size_t> order(places->size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return (*places)[i].start_ns; });
  std::vector<Neighbours> before(places->size());
  const auto look = [&](auto begin, auto end, const auto& visit) {
    std::map<int, int> devices;
    std::map<std::pair<int, int>, int> streams;
    for (; begin != end; ++begin) {
      const StepPlace& place = (*places)[*begin];
      int& device = devices.try_emplace(place.device, kStepOfNeighbours).first->second;
      int& stream = streams.try_emplace({place.device, place.stream}, kStepOfNeighbours).first->second;
      if (unknown(place)) {
        visit(*begin, Neighbours{stream, device});
      } else {
        device = stream = place.step;
      }
    }
  };
  look(order.begin(), order.end(), [&](size_t i, const Neighbours& found) { before[i] = found; });
  std::vector<std::pair<size_t, int>> resolved;
  look(order.rbegin(), order.rend(), [&](size_t i, const Neighbours& after) {
    const Neighbours& first = before[i];
    const bool one = first.on_stream == after.on_stream && first.on_stream != kStepOfNeighbours;
    const int step = one                                    ? first.on_stream
                     : first.on_device != kStepOfNeighbours ? first.on_device
                                                            : after.on_device;
    resolved.emplace_back(i, step);
  });
  for (const auto& [i, step] : resolved) (*places)[i].step = step;
}

void StepWindows::Add(int step, int64_t start_ns, int64_t end_ns) {
  empty_ = false;
  if (step < 0) return outside_.push_back(start_ns);
  const auto [entry, is_new] = activities_.try_emplace(step, TraceStep{step, start_ns, end_ns});
  TraceStep& window = entry->second;
  window.start_ns = std::min(window.start_ns, start_ns);
  window.end_ns = std::max(window.end_ns, end_ns);
}

std::vector<TraceStep> StepWindows::Steps() const {
  std::vector<TraceStep> steps;
  for (const auto& [number, activities] : activities_) steps.push_back(activities);
  std::stable_sort(steps.begin(), steps.end(),
                   [](const TraceStep& a, const TraceStep& b) { return a.start_ns < b.start_ns; });
  std::vector<int64_t> outside = outside_;
  std::sort(outside.begin(), outside.end());
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    const int64_t next = steps[i + 1].start_ns;
    const auto other = std::lower_bound(outside.begin(), outside.end(), steps[i].end_ns);
    if (steps[i].end_ns >= next || other == outside.end() || *other >= next) steps[i].end_ns = next;
  }
  return steps;
}

void CheckStep(const TraceRun& run, int number) {
  for (const TraceStep& step : run.steps) {
    if (step.step == number) return;
  }
  if (run.steps.empty()) {
    Throw(Code::kFailedPrecondition,
          "the trace records no steps, and no NVTX range looks like one (\"step 3\", \"iteration 3\"); leave "
          "--step out");
  }
  Throw(Code::kNotFound, "run {} has no step {}; it has {} to {}", run.info.id, number,
        run.steps.front().step, run.steps.back().step);
}

}  // namespace lanescope::traces
