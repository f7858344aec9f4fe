// SPDX-License-Identifier: Apache-2.0
#include "gui/model/group_lanes.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "core/base/printable.h"
#include "core/machine/device_name.h"
#include "traces/read/trace_reader.h"

namespace lanescope::gui {
namespace {

// Hosts, and the files of ranks, differ in the upper bits of process numbers.
int64_t PlaceOf(int64_t process) { return process >> 48; }

// The order of lanes that nobody launched (memory, annotations): as what runs on their device.
std::map<int, int64_t> ProcessesOfDevices(const RunData& run) {
  std::map<int, int64_t> processes;
  for (const Lane& lane : run.lanes) {
    if (lane.on_device() && lane.device >= 0 && lane.process >= 0)
      processes.try_emplace(lane.device, lane.process);
  }
  return processes;
}

// "rank 12" after "rank 2".
int64_t NumberIn(std::string_view text) {
  const size_t digit = text.find_first_of("0123456789");
  int64_t number = INT64_MAX;
  if (digit != std::string_view::npos)
    std::from_chars(text.data() + digit, text.data() + text.size(), number);
  return number;
}

class Grouper {
 public:
  explicit Grouper(RunData* run) : run_(*run), by_device_(ProcessesOfDevices(*run)) {
    for (size_t l = 0; l < run_.lanes.size(); ++l) {
      const int64_t process = ProcessOf(run_.lanes[l]);
      processes_.push_back(process);
      if (process < 0) continue;
      in_place_[PlaceOf(process)].insert(process);
      (run_.lanes[l].role == LaneRole::kThread ? threads_ : devices_).insert(process);
    }
    for (const auto& [place, processes] : in_place_) {
      title_of_place_[place] = PlaceTitle(place);
      const std::string& host = HostOf(place);
      if (host.empty()) continue;
      const int64_t number = NumberIn(title_of_place_[place]);
      const auto [known, is_new] = first_of_host_.try_emplace(host, number);
      known->second = std::min(known->second, number);
    }
  }

  void Group() {
    std::vector<size_t> order;
    for (size_t l = 0; l < run_.lanes.size(); ++l) {
      if (processes_[l] >= 0) order.push_back(l);
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return KeyOf(a) < KeyOf(b); });
    for (const size_t l : order) run_.lanes[l].group = GroupOf(l);
  }

 private:
  int64_t ProcessOf(const Lane& lane) const {
    if (lane.process >= 0 || lane.role == LaneRole::kLink) return lane.process;
    const auto found = by_device_.find(lane.device);
    return found == by_device_.end() ? -1 : found->second;
  }
  const RunPlace* PlaceNumbered(int64_t place) const {
    const auto found = std::find_if(run_.places.begin(), run_.places.end(),
                                    [&](const RunPlace& each) { return each.place == place; });
    return found == run_.places.end() ? nullptr : &*found;
  }
  // Where the job is on several machines; else empty.
  const std::string& HostOf(int64_t place) const {
    static const std::string kNone;
    const RunPlace* known = PlaceNumbered(place);
    return known == nullptr || run_.hosts.size() < 2 ? kNone : known->host;
  }
  std::string PlaceTitle(int64_t place) const {
    const RunPlace* known = PlaceNumbered(place);
    if (known != nullptr && !known->title.empty()) return known->title;
    for (size_t l = 0; l < run_.lanes.size(); ++l) {
      const Lane& lane = run_.lanes[l];
      if (processes_[l] < 0 || PlaceOf(processes_[l]) != place || lane.device < 0) continue;
      const std::string& rank = run_.devices[static_cast<size_t>(lane.device)].rank;
      if (!rank.empty()) return rank;
    }
    return fmt::format("host {}", place);
  }
  // Machines in the order of their first ranks; ranks in theirs, be they of files or of MPI's processes.
  using Key = std::tuple<int64_t, std::string_view, int64_t, int64_t, int64_t, int64_t, bool>;
  Key KeyOf(size_t l) const {
    const int64_t place = PlaceOf(processes_[l]);
    const std::string& host = HostOf(place);
    const RunProcess* process = ProcessNumbered(processes_[l]);
    return {host.empty() ? INT64_MAX : first_of_host_.at(host),
            host,
            NumberIn(title_of_place_.at(place)),
            place,
            process == nullptr || process->rank < 0 ? INT64_MAX : process->rank,
            processes_[l],
            run_.lanes[l].role == LaneRole::kThread};
  }
  const RunProcess* ProcessNumbered(int64_t process) const {
    const auto found = std::find_if(run_.processes.begin(), run_.processes.end(),
                                    [&](const RunProcess& each) { return each.process == process; });
    return found == run_.processes.end() ? nullptr : &*found;
  }
  std::string ProcessTitle(int64_t process) const {
    const RunProcess* found = ProcessNumbered(process);
    const std::string number = fmt::format("process {}", (process >> 24) & 0xffffff);
    if (found == nullptr) return number;
    const std::string rank = found->rank >= 0 ? fmt::format("rank {}: ", found->rank) : "";
    if (traces::IsNoProcess(process) && !found->name.empty()) return rank + found->name;
    return rank + number + (found->name.empty() ? "" : " ") + found->name;
  }
  // The number of the group, made anew where it is not there.
  int Number(const std::string& title, LaneGroup::Kind kind, int parent, int64_t of) {
    const std::string host = kind == LaneGroup::Kind::kHost ? title : "";
    const auto [found, is_new] = numbers_.try_emplace({kind, of, host}, static_cast<int>(run_.groups.size()));
    if (is_new) run_.groups.push_back({title, kind, parent});
    return found->second;
  }
  int GroupOf(size_t l) {
    const int64_t process = processes_[l], place = PlaceOf(process);
    int group = -1;
    if (const std::string& host = HostOf(place); !host.empty())
      group = Number(host, LaneGroup::Kind::kHost, group, 0);
    if (in_place_.size() > 1)
      group = Number(title_of_place_.at(place), LaneGroup::Kind::kPlace, group, place);
    const bool several = in_place_.at(place).size() > 1;
    if (several) group = Number(ProcessTitle(process), LaneGroup::Kind::kProcess, group, process);
    if (run_.lanes[l].role == LaneRole::kThread && (devices_.contains(process) || !several)) {
      group = Number((several ? "threads" : "threads of " + ProcessTitle(process)), LaneGroup::Kind::kThreads,
                     group, process);
    }
    return group;
  }

  RunData& run_;
  const std::map<int, int64_t> by_device_;
  std::vector<int64_t> processes_;  // by lane; -1: not known
  std::map<int64_t, std::set<int64_t>> in_place_;
  std::map<int64_t, std::string> title_of_place_;
  std::set<int64_t> threads_, devices_;           // processes that have such lanes
  std::map<std::string, int64_t> first_of_host_;  // its lowest rank
  std::map<std::tuple<LaneGroup::Kind, int64_t, std::string>, int> numbers_;
};

int TaskOf(const RunData& run, int device) {
  return device < 0 ? -1 : run.devices[static_cast<size_t>(device)].task;
}

// The end of a link between tasks that its copies' own lanes are not in.
int TaskOfLink(const RunData& run, const Lane& link) {
  const int from = TaskOf(run, link.device), to = TaskOf(run, link.peer);
  if (link.command.empty() || link.command.front() < 0) return to;
  return TaskOf(run, run.commands[static_cast<size_t>(link.command.front())].device) == to ? from : to;
}

// The numbers of groups are those of tasks.
void GroupByTask(RunData* run) {
  for (const RunTask& task : run->tasks) {
    LaneGroup& group = run->groups.emplace_back();
    group.title = task.name;
    group.kind = LaneGroup::Kind::kTask;
    group.prefix = task.name + "/";
    group.remark = Printable(task.process);
    if (const std::string clock = traces::ClockText(task); !clock.empty())
      group.remark += (group.remark.empty() ? "" : ", ") + clock;
  }
  for (Lane& lane : run->lanes)
    lane.group = lane.role == LaneRole::kLink ? TaskOfLink(*run, lane) : TaskOf(*run, lane.device);
}

// "worker:1/GPU:0" of another task: little room is beside a lane.
std::string ShortName(const RunDevice& device) {
  DeviceName name;
  if (!ParseDeviceName(device.full_name, &name) || name.replica != 0) return device.label;
  return fmt::format("{}:{}/{}:{}", name.job, name.task, name.type, name.id);
}

std::string WithoutPrefix(const RunData& run, int group, const std::string& name) {
  for (int g = group; g >= 0; g = run.groups[static_cast<size_t>(g)].parent) {
    const LaneGroup& of = run.groups[static_cast<size_t>(g)];
    const std::string begin = of.prefix.empty() ? of.title + " " : of.prefix;
    if (name.starts_with(begin)) return name.substr(begin.size());
  }
  return name;
}

}  // namespace

void GroupLanes(RunData* run) {
  run->groups.clear();
  if (!run->tasks.empty()) return GroupByTask(run);
  if (run->commands.empty()) Grouper(run).Group();
}

std::string LabelInGroup(const RunData& run, const Lane& lane, std::string label) {
  if (lane.role != LaneRole::kLink || lane.device < 0 || lane.peer < 0)
    return WithoutPrefix(run, lane.group, label);
  const auto end = [&](int number) {
    const RunDevice& device = run.devices[static_cast<size_t>(number)];
    return lane.group >= 0 && device.task >= 0 && device.task != lane.group
               ? ShortName(device)
               : WithoutPrefix(run, lane.group, device.label);
  };
  return end(lane.device) + " → " + end(lane.peer);
}

}  // namespace lanescope::gui
