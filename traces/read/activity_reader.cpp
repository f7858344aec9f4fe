#include "traces/read/activity_reader.h"

#include <algorithm>
#include <map>

#include "traces/read/activity_cursor.h"
#include "traces/read/activity_names.h"
#include "traces/read/launch_links.h"
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

// Adds what it is given to a run.
class RunActivities : public ActivityVisitor {
 public:
  RunActivities(Database& database, bool ours, TextNumbers* texts, TraceRun* run)
      : calls_(run->api_calls), ours_(ours), texts_(*texts), run_(*run) {
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
    if (moved != collectives_.end()) {
      run_.collectives.push_back(moved->second);
      run_.collectives.back().launch = static_cast<int>(run_.launches.size());
    }
    run_.launches.push_back(launch);
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
    run_.copies.push_back(copy);
  }
  void Memset(Stretch, const ActivityRow& row, int64_t bytes) override {
    TraceMemset memset;
    Fill(row, &memset);
    Attach(row.origin, &memset);
    memset.bytes = bytes;
    run_.memsets.push_back(memset);
  }
  void Invalid(Stretch, int) override { ++run_.invalid_rows; }

 private:
  template <typename Activity>
  void Fill(const ActivityRow& row, Activity* activity) {
    activity->start_ns = row.start_ns;
    activity->end_ns = row.end_ns;
    activity->global_pid = row.global_pid;
    activity->device = row.device;
    activity->stream = row.stream;
    activity->step = ours_ || row.correlation > 0 ? row.origin.step : kStepOfNeighbours;
    activity->api = calls_.Find(row.global_pid, row.correlation, row.start_ns);
    if (activity->api >= 0) activity->range = run_.api_calls[static_cast<size_t>(activity->api)].range;
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
  const bool ours_;
  TextNumbers& texts_;
  TraceRun& run_;
  std::map<std::pair<int64_t, int64_t>, TraceCollective> collectives_;  // by process and correlation id
};

}  // namespace

TextNumbers::TextNumbers(Database& database) {
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

void ReadActivities(Database& database, bool ours, TextNumbers& texts, TraceRun* run) {
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
  RunActivities activities(database, ours, &texts, run);
  cursor.ReadKernels(&activities);
  cursor.ReadGraphs(&activities);
  cursor.ReadCopies(&activities);
  cursor.ReadMemsets(&activities);
}

}  // namespace lanescope::traces
