#include "gui/model/group_lanes.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

namespace lanescope::gui {
namespace {

// Hosts, and the files of ranks, differ in the upper bits of process numbers.
int64_t PlaceOf(int64_t process) { return process >> 48; }

// Of lanes that nobody launched (memory, annotations): as what runs on their device.
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
    for (const auto& [place, processes] : in_place_) title_of_place_[place] = PlaceTitle(place);
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
  std::string PlaceTitle(int64_t place) const {
    for (size_t l = 0; l < run_.lanes.size(); ++l) {
      const Lane& lane = run_.lanes[l];
      if (processes_[l] < 0 || PlaceOf(processes_[l]) != place || lane.device < 0) continue;
      const std::string& rank = run_.devices[static_cast<size_t>(lane.device)].rank;
      if (!rank.empty()) return rank;
    }
    return fmt::format("host {}", place);
  }
  std::tuple<int64_t, int64_t, int64_t, bool> KeyOf(size_t l) const {
    const int64_t place = PlaceOf(processes_[l]);
    return {NumberIn(title_of_place_.at(place)), place, processes_[l],
            run_.lanes[l].role == LaneRole::kThread};
  }
  std::string ProcessTitle(int64_t process) const {
    const auto found = std::find_if(run_.processes.begin(), run_.processes.end(),
                                    [&](const RunProcess& each) { return each.process == process; });
    const std::string number = fmt::format("process {}", (process >> 24) & 0xffffff);
    return found == run_.processes.end() || found->name.empty() ? number : number + " " + found->name;
  }
  // The number of the group, made anew where it is not there.
  int Number(const std::string& title, LaneGroup::Kind kind, int parent, int64_t of) {
    const auto [found, is_new] = numbers_.try_emplace({kind, of}, static_cast<int>(run_.groups.size()));
    if (is_new) run_.groups.push_back({title, kind, parent});
    return found->second;
  }
  int GroupOf(size_t l) {
    const int64_t process = processes_[l], place = PlaceOf(process);
    int group = -1;
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
  std::set<int64_t> threads_, devices_;  // processes that have such lanes
  std::map<std::pair<LaneGroup::Kind, int64_t>, int> numbers_;
};

}  // namespace

void GroupLanes(RunData* run) {
  run->groups.clear();
  if (!run->commands.empty()) return;
  Grouper(run).Group();
}

}  // namespace lanescope::gui
