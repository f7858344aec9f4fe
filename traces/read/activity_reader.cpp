// SPDX-License-Identifier: Apache-2.0
#include "traces/read/activity_reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include "traces/read/activity_cursor.h"
#include "traces/read/activity_names.h"
#include "traces/read/captured_calls.h"
#include "traces/read/launch_links.h"
#include "traces/read/nvtx_reader.h"
#include "traces/read/step_ranges.h"
#include "traces/store/import_tables.h"
#include "traces/store/string_table.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

// -1 for a command that the run does not have.
int FindCommand(const TraceRun& run, int schedule, int command) {
  const auto found = std::lower_bound(run.commands.begin(), run.commands.end(), std::pair(schedule, command),
                                      [](const TraceCommand& a, const std::pair<int, int>& key) {
                                        return std::pair(a.schedule, a.id) < key;
                                      });
  if (found == run.commands.end() || found->schedule != schedule || found->id != command) return -1;
  return static_cast<int>(found - run.commands.begin());
}

// Whether anything has no correlation id.
bool HasUncorrelated(Database& database) {
  bool has = false;
  const auto look = [&](const auto& from) {
    if (has) return;
    ReadRows(database, from, {from.correlation},
             [&](const auto& row) { has = has || row[from.correlation].value_or(-1) <= 0; });
  };
  look(tables::kKernel);
  look(tables::kGraphTrace);
  look(tables::kMemcpy);
  look(tables::kMemset);
  return has;
}

// Finds the steps of what has no correlation id, which are known once those of all others are.
class NeighbourSteps : public ActivityVisitor {
 public:
  NeighbourSteps(const TraceRun& run, const RangeSteps& steps) : calls_(run.api_calls), steps_(steps) {}

  void Begin(int) override {}
  void Launch(Stretch, const ActivityRow& row, const LaunchNames&) override { Add(row); }
  void Copy(Stretch, const ActivityRow& row, const CopiedBytes&) override { Add(row); }
  void Memset(Stretch, const ActivityRow& row, int64_t) override { Add(row); }
  void Invalid(Stretch, int) override {}

  // In the order in which they came.
  std::vector<int> Take() {
    std::vector<size_t> unknown;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].step == kStepOfNeighbours) unknown.push_back(i);
    }
    ResolveSteps(&places_);
    std::vector<int> steps;
    for (size_t u = 0; u < unknown.size(); ++u) {
      const StepPlace& place = places_[unknown[u]];
      steps.push_back(place.step == kStepOfNeighbours ? steps_.AtTime(processes_[u], place.start_ns)
                                                      : place.step);
    }
    return steps;
  }

 private:
  void Add(const ActivityRow& row) {
    int step = kStepOfNeighbours;
    if (row.correlation > 0) {
      const int call = calls_.Find(row.global_pid, row.correlation, row.start_ns);
      step = steps_.OfLaunch(call, row.global_pid, row.start_ns);
    } else {
      processes_.push_back(row.global_pid);
    }
    places_.push_back({row.device, row.stream, row.start_ns, step});
  }

  const ApiCallIndex calls_;
  const RangeSteps& steps_;
  std::vector<StepPlace> places_;
  std::vector<int64_t> processes_;  // of what has no correlation id
};

// Says of what it is given which call, command and step it is of, and hands it on.
class RunActivities : public ActivityVisitor {
 public:
  RunActivities(Database& database, TextNumbers* texts, TraceRun* run, RunSink* sink, const RangeSteps* steps,
                std::vector<int> steps_of_neighbours)
      : calls_(run->api_calls),
        captured_(database, *run),
        texts_(*texts),
        run_(*run),
        sink_(*sink),
        steps_(steps),
        of_neighbours_(std::move(steps_of_neighbours)) {
    if (steps != nullptr) windows_ = steps->Windows();
    run->joined_graphs = captured_.joined();
    run->unjoined_graphs = captured_.unjoined();
    using tables::kCollective;
    ReadRows(database, kCollective,
             {kCollective.global_pid, kCollective.correlation, kCollective.kind, kCollective.bytes,
              kCollective.ranks, kCollective.group, kCollective.src_rank, kCollective.dst_rank},
             [&](const auto& row) {
               TraceCollective collective{0, texts_.Add(row[kCollective.kind]), row[kCollective.bytes],
                                          row[kCollective.ranks]};
               collective.src_rank = row[kCollective.src_rank];
               collective.dst_rank = row[kCollective.dst_rank];
               if (!row[kCollective.group].empty()) collective.group = texts_.Add(row[kCollective.group]);
               collectives_.emplace(std::pair(row[kCollective.global_pid].value_or(0),
                                              row[kCollective.correlation].value_or(-1)),
                                    collective);
             });
  }

  void Begin(int) override {}
  void Launch(Stretch, const ActivityRow& row, const LaunchNames& names) override {
    TraceLaunch launch;
    Fill(row, &launch);
    Attach(row.origin, &launch);
    launch.name = TextOf(names.full);
    launch.op = TextOf(names.brief);
    const auto moved =
        collectives_.empty() ? collectives_.end() : collectives_.find({row.global_pid, row.correlation});
    sink_.Launch(launch, moved == collectives_.end() ? nullptr : &moved->second);
  }
  void Copy(Stretch, const ActivityRow& row, const CopiedBytes& copied) override {
    TraceCopy copy;
    Fill(row, &copy);
    Attach(row.origin, &copy);
    copy.bytes = copied.bytes;
    copy.src = copied.route.src;
    copy.dst = copied.route.dst;
    copy.copy_class = copied.route.copy_class;
    copy.kind = static_cast<int>(std::clamp<int64_t>(copied.kind, -1, INT32_MAX));
    sink_.Copy(copy);
  }
  void Memset(Stretch, const ActivityRow& row, int64_t bytes) override {
    TraceMemset memset;
    Fill(row, &memset);
    Attach(row.origin, &memset);
    memset.bytes = bytes;
    sink_.Memset(memset);
  }
  void Invalid(Stretch, int) override { ++run_.invalid_rows; }

  void Call(const TraceApiCall& call) {
    last_ns_ = std::max(last_ns_, call.end_ns);
    sink_.Call(call);
  }
  int64_t Finish() {
    if (steps_ == nullptr) return last_ns_;
    run_.steps = steps_->StepsOf(windows_);
    if (!windows_.empty()) run_.steps_without_work = steps_->WithoutWork(run_.steps);
    return last_ns_;
  }

 private:
  template <typename Activity>
  void Fill(const ActivityRow& row, Activity* activity) {
    activity->start_ns = row.start_ns;
    activity->end_ns = row.end_ns;
    activity->global_pid = row.global_pid;
    activity->device = row.device;
    activity->stream = row.stream;
    activity->step = row.origin.step;
    activity->api = calls_.Find(row.global_pid, row.correlation, row.start_ns);
    if (activity->api >= 0) activity->range = RangeOf(activity->api, row);
    last_ns_ = std::max(last_ns_, row.end_ns);
    if (steps_ == nullptr) return;
    const bool by_neighbours = row.correlation <= 0 && next_ < of_neighbours_.size();
    activity->step = by_neighbours ? of_neighbours_[next_++]
                                   : steps_->OfLaunch(activity->api, row.global_pid, row.start_ns);
    windows_.Add(activity->step, row.start_ns, row.end_ns);
  }
  // A node of a graph is of the range in which it was recorded.
  int RangeOf(int call, const ActivityRow& row) const {
    const int recorded = captured_.Find(call, row.start_ns, row.stream);
    const int range = recorded < 0 ? -1 : run_.api_calls[static_cast<size_t>(recorded)].range;
    return range >= 0 ? range : run_.api_calls[static_cast<size_t>(call)].range;
  }
  template <typename Activity>
  void Attach(const Origin& origin, Activity* activity) {
    if (origin.command < 0) return;
    const TraceCommand& command = run_.commands[static_cast<size_t>(origin.command)];
    activity->schedule = command.schedule;
    activity->command = command.id;
    activity->node = command.node;
    activity->signature = command.signature;
  }
  int TextOf(int64_t id) { return id < -1 ? texts_.Add(GraphName(GraphOfNameId(id))) : texts_.Number(id); }

  const ApiCallIndex calls_;
  const CapturedCalls captured_;
  TextNumbers& texts_;
  TraceRun& run_;
  RunSink& sink_;
  std::map<std::pair<int64_t, int64_t>, TraceCollective> collectives_;  // by process and correlation id
  const RangeSteps* const steps_;                                       // where ranges make them; else null
  const std::vector<int> of_neighbours_;  // steps of what has no correlation id, in the order of reading
  size_t next_ = 0;
  StepWindows windows_;
  int64_t last_ns_ = INT64_MIN;  // of calls and activities
};

}  // namespace

TextNumbers::TextNumbers(Database& database, std::vector<std::string>* texts) : texts_(*texts) {
  for (auto& [id, text] : ReadTexts(database)) entries_[id].text = std::move(text);
}

int TextNumbers::Number(std::optional<int64_t> id) {
  const auto found = id ? entries_.find(*id) : entries_.end();
  if (found == entries_.end()) return -1;
  Entry& entry = found->second;
  if (entry.number < 0) {
    entry.number = static_cast<int>(texts_.size());
    texts_.push_back(std::move(entry.text));
  }
  return entry.number;
}

int TextNumbers::Add(std::string_view text) {
  const auto [entry, is_new] = added_.try_emplace(std::string(text), static_cast<int>(texts_.size()));
  if (is_new) texts_.push_back(entry->first);
  return entry->second;
}

int64_t ReadActivities(Database& database, bool ours, bool calls_kept, TextNumbers& texts, TraceRun* run,
                       RunSink* sink) {
  ParallelReader reader(database, 1);
  const std::vector<WantedRun> runs{{run->info.id, HostNumbers(run->devices)}};
  const RunFilter filter(runs, !ours);
  Origins origins;
  if (ours) {
    origins =
        Origins(&reader, filter,
                [run](int, int schedule, int command) { return FindCommand(*run, schedule, command); }, {});
  }
  ActivityCursor cursor(&reader, runs, filter, ours, origins, {});
  const auto read = [&cursor](ActivityVisitor* visitor) {
    cursor.ReadKernels(visitor);
    cursor.ReadGraphs(visitor);
    cursor.ReadCopies(visitor);
    cursor.ReadMemsets(visitor);
  };
  std::optional<RangeSteps> steps;
  if (run->steps.empty() && !run->ranges.empty()) steps.emplace(*run);
  if (steps && steps->empty()) steps.reset();
  for (size_t i = 0; steps && i < run->api_calls.size(); ++i)
    run->api_calls[i].step = steps->OfCall(static_cast<int>(i));
  std::vector<int> of_neighbours;
  if (steps && !ours && HasUncorrelated(database)) {
    NeighbourSteps neighbours(*run, *steps);
    read(&neighbours);
    of_neighbours = neighbours.Take();
  }
  RunActivities activities(database, &texts, run, sink, steps ? &*steps : nullptr, std::move(of_neighbours));
  sink->Begin(*run);
  const auto call = [&](const TraceApiCall& each) { activities.Call(each); };
  if (calls_kept) {
    for (const TraceApiCall& each : run->api_calls) call(each);
  } else {
    ReadApiCalls(database, filter, texts, &run->invalid_rows, call);
  }
  read(&activities);
  return activities.Finish();
}

void Replay(const TraceRun& run, RunSink* sink) {
  sink->Begin(run);
  for (const TraceApiCall& call : run.api_calls) sink->Call(call);
  auto moved = run.collectives.begin();
  for (size_t i = 0; i < run.launches.size(); ++i) {
    while (moved != run.collectives.end() && static_cast<size_t>(moved->launch) < i) ++moved;
    const bool has = moved != run.collectives.end() && static_cast<size_t>(moved->launch) == i;
    sink->Launch(run.launches[i], has ? &*moved : nullptr);
  }
  for (const TraceCopy& copy : run.copies) sink->Copy(copy);
  for (const TraceMemset& memset : run.memsets) sink->Memset(memset);
}

}  // namespace lanescope::traces
