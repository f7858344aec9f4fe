// SPDX-License-Identifier: Apache-2.0
#include "core/runs/run_profile.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/runs/path_cover.h"
#include "core/runs/work_by_start.h"

namespace lanescope {
namespace {

constexpr size_t kCarried = SIZE_MAX;  // the occurrence of a carried item

class Profiler {
 public:
  explicit Profiler(const RunView& view) : view_(view) {
    profile_.by_node = view.by_node;
    profile_.whole = view.whole;
    profile_.devices = view.devices;
    profile_.all_steps = static_cast<int64_t>(view.steps.size());
    name_of_op_.reserve(view.ops.size());
    for (const RunView::Op& op : view.ops) name_of_op_.push_back(NameNumber(op.name));
    for (const RunView::Lane& lane : view.lanes) working_.insert(lane.device);
    for (const RunView::Route& route : view.routes) working_.insert({route.src, route.dst});
  }

  RunProfile Profile(int step, const std::atomic<bool>* cancelled, size_t max_items) {
    cancelled_ = cancelled;
    const std::vector<size_t> chosen = ChooseSteps(step);
    if (view_.whole && !view_.knows_dependencies()) {
      size_t count = 0;
      for (const RunView::Lane& lane : view_.lanes) count += lane.slices->size();
      CheckItems(count, max_items);
      AddWholeRun(view_.steps.front());
    } else {
      AddSteps(chosen, max_items);
    }
    if (step < 0 && !view_.whole) profile_.range = RangeOfSteps();
    const auto count = static_cast<double>(chosen.size());
    profile_.steps = static_cast<int64_t>(chosen.size());
    profile_.step_ns /= count;
    profile_.end_wait_ns /= count;
    for (OpProfile& op : profile_.ops) {
      op.carried_path_ns /= count;
      op.carried_wait_ns /= count;
    }
    return std::move(profile_);
  }

 private:
  StepRange RangeOfSteps() const {
    std::vector<int64_t> lengths;
    for (const RunView::Step& step : view_.steps) {
      if (step.counts) lengths.push_back(step.end_ns - step.start_ns);
    }
    return MeasuredStep(std::move(lengths), view_.knows_dependencies());
  }
  std::vector<size_t> ChooseSteps(int step) const {
    const std::vector<RunView::Step>& steps = view_.steps;
    if (steps.empty()) Throw(Code::kFailedPrecondition, "run {} has no activity to compare", view_.run);
    std::vector<size_t> chosen;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (step < 0 ? steps[i].counts : steps[i].number == step) chosen.push_back(i);
    }
    if (chosen.empty()) {
      Throw(Code::kNotFound, "run {} has no step {}; it has {} to {}", view_.run, step, steps.front().number,
            steps.back().number);
    }
    return MiddleHalf(std::move(chosen), [&](size_t i) { return steps[i].end_ns - steps[i].start_ns; });
  }

  const RunView::Lane& LaneOf(const WorkItem& item) const {
    return view_.lanes[static_cast<size_t>(item.lane)];
  }

  // The resource that an item competes for: a device, or (-1) all copies, or everything.
  int ResourceOf(const WorkItem& item) const {
    if (view_.emulated) return 0;
    const RunView::Lane& lane = LaneOf(item);
    const bool moves = item.kind == WorkKind::kCopy && LeavesItsDevice(view_, lane, item.slice);
    return moves ? -1 : lane.device;
  }

  // Ops of one name are one op, except kernels on several devices, and copies of several routes.
  struct Key {
    WorkKind kind;
    int name;  // -1: none
    int src, dst;
    auto operator<=>(const Key&) const = default;
  };
  int NameNumber(std::string_view name) {
    const auto [entry, is_new] = name_numbers_.try_emplace(name, static_cast<int>(names_.size()));
    if (is_new) names_.push_back(name);
    return entry->second;
  }
  Key KeyOf(const WorkItem& item) {
    const RunView::Lane& lane = LaneOf(item);
    const int32_t op = lane.slices->op[item.slice], command = lane.slices->CommandOf(item.slice);
    const int name = op < 0 ? -1 : name_of_op_[static_cast<size_t>(op)];
    if (!lane.copies) return {item.kind, name, view_.by_node ? 0 : lane.device, 0};
    if (command >= 0) {
      const RunView::Command& copy = view_.commands[static_cast<size_t>(command)];
      if (copy.op >= 0 && copy.src >= 0 && copy.dst >= 0) return {item.kind, name, copy.src, copy.dst};
    }
    const int32_t number = lane.slices->RouteOf(item.slice);
    if (number < 0) return {item.kind, name, lane.device, lane.device};
    const RunView::Route& route = view_.routes[static_cast<size_t>(number)];
    return {item.kind, NameNumber(route.name), route.src, route.dst};
  }
  OpProfile OpOf(const Key& key) const {
    OpProfile op;
    op.kind = key.kind;
    op.op = key.name < 0 ? "no name" : names_[static_cast<size_t>(key.name)];
    op.name = op.match = op.op;
    if (key.kind != WorkKind::kCopy) return op;
    op.name += fmt::format(" {} -> {}", view_.devices[static_cast<size_t>(key.src)].label,
                           view_.devices[static_cast<size_t>(key.dst)].label);
    op.match =
        view_.by_node ? op.name : fmt::format("{} {} -> {}", op.op, PlaceOf(key.src), PlaceOf(key.dst));
    return op;
  }
  // The place of a device among those that did something, by number.
  std::string PlaceOf(int device) const {
    const int id = view_.devices[static_cast<size_t>(device)].id;
    if (id < 0) return "host";
    const auto before = std::count_if(working_.begin(), working_.end(), [&](int other_device) {
      const int other = view_.devices[static_cast<size_t>(other_device)].id;
      return other >= 0 && other < id;
    });
    return fmt::format("device {}", before);
  }
  size_t OpOf(const WorkItem& item) {
    const Key key = KeyOf(item);
    const auto [entry, is_new] = numbers_.try_emplace(key, profile_.ops.size());
    if (is_new) {
      profile_.ops.push_back(OpOf(key));
      occurrence_.push_back(0);
      sums_.emplace_back();
    }
    return entry->second;
  }

  void CheckCancelled() const {
    if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed))
      Throw(Code::kCancelled, "the profile of run {} was cancelled", view_.run);
  }
  void CheckItems(size_t count, size_t max_items) const {
    if (count <= max_items) return;
    Throw(Code::kResourceExhausted, "run {} has {} pieces of work in one step, too many to take apart",
          view_.run, count);
  }

  void AddSteps(const std::vector<size_t>& chosen, size_t max_items) {
    const StepPathFinder finder(view_, chosen);
    for (const size_t number : chosen) {
      CheckCancelled();
      CheckItems(finder.NumItems(number), max_items);
      AddStep(view_.steps[number], finder.Find(number));
    }
    for (size_t op = 0; op < sums_.size(); ++op) {
      for (OpInstance& instance : sums_[op]) {
        const auto seen = static_cast<double>(std::max<int64_t>(1, instance.seen));
        for (double* mean : {&instance.ns, &instance.path_ns, &instance.shared_ns, &instance.wait_ns}) {
          *mean /= seen;
        }
        profile_.ops[op].instances.Push(instance);
      }
    }
  }

  // Which of an op's instances.
  struct Place {
    size_t op = 0, instance = 0;
  };
  using SharedTimes = std::map<int, SharedTime<Place>>;  // by resource

  void AddStep(const RunView::Step& step, const StepPath& path) {
    profile_.step_ns += static_cast<double>(step.end_ns - step.start_ns);
    std::fill(occurrence_.begin(), occurrence_.end(), size_t{0});
    std::vector<Place> places;  // by item
    places.reserve(path.items.size());
    SharedTimes shared;
    const auto add_shared = [&](const Place& place, int64_t ns) {
      if (place.instance != kCarried) sums_[place.op][place.instance].shared_ns += static_cast<double>(ns);
    };
    for (const WorkItem& item : path.items) {
      const size_t op = OpOf(item);
      std::vector<OpInstance>& instances = sums_[op];
      // The step that launched it counts it; here only its time on the path matters.
      const size_t occurrence = item.carried ? kCarried : occurrence_[op]++;
      places.push_back({op, occurrence});
      if (!item.carried) {
        if (occurrence == instances.size()) instances.push_back(Describe(item));
        OpInstance& instance = instances[occurrence];
        ++instance.seen;
        instance.ns += static_cast<double>(item.end_ns - item.start_ns);
      }
      shared[ResourceOf(item)].Add(item.start_ns, item.end_ns, places.back(), add_shared);
    }
    for (auto& [resource, times] : shared) times.Finish(add_shared);
    for (const PathSegment& segment : path.segments) {
      const auto ns = static_cast<double>(segment.end_ns - segment.start_ns);
      if (segment.item < 0) {
        profile_.end_wait_ns += ns;
        continue;
      }
      const auto [op, occurrence] = places[static_cast<size_t>(segment.item)];
      if (occurrence == kCarried) {
        OpProfile& carried = profile_.ops[op];
        (segment.waiting ? carried.carried_wait_ns : carried.carried_path_ns) += ns;
        continue;
      }
      OpInstance& instance = sums_[op][occurrence];
      (segment.waiting ? instance.wait_ns : instance.path_ns) += ns;
    }
  }

  // The path of a run of which only times are known: however large, no more of it is held than what runs.
  void AddWholeRun(const RunView::Step& step) {
    constexpr size_t kItemsPerLook = 1 << 16;
    profile_.step_ns += static_cast<double>(step.end_ns - step.start_ns);
    const auto add_path = [&](const Place* place, bool waiting, int64_t start_ns, int64_t end_ns) {
      const auto ns = static_cast<double>(end_ns - start_ns);
      if (place == nullptr) {
        profile_.end_wait_ns += ns;
        return;
      }
      OpInstances& instances = profile_.ops[place->op].instances;
      waiting ? instances.AddWait(place->instance, ns) : instances.AddPath(place->instance, ns);
    };
    const auto add_shared = [&](const Place& place, int64_t ns) {
      profile_.ops[place.op].instances.AddShared(place.instance, static_cast<double>(ns));
    };
    WorkByStart work(view_);
    PathCover<Place> cover(step.start_ns, step.end_ns);
    SharedTimes shared;
    size_t count = 0;
    for (WorkItem item; work.Next(&item);) {
      if (count++ % kItemsPerLook == 0) CheckCancelled();
      const size_t op = OpOf(item);
      OpInstances& instances = profile_.ops[op].instances;
      const Place place{op, instances.size()};
      OpInstance instance = Describe(item);
      instance.seen = 1;
      instance.ns = static_cast<double>(item.end_ns - item.start_ns);
      instances.Push(instance);
      cover.Add(item.kind, item.start_ns, item.end_ns, place, add_path);
      shared[ResourceOf(item)].Add(item.start_ns, item.end_ns, place, add_shared);
    }
    cover.Finish(add_path);
    for (auto& [resource, times] : shared) times.Finish(add_shared);
  }

  int TextNumber(std::string_view text) {
    const auto [entry, is_new] = text_numbers_.try_emplace(text, static_cast<int>(profile_.texts.size()));
    if (is_new) profile_.texts.emplace_back(text);
    return entry->second;
  }
  OpInstance Describe(const WorkItem& item) {
    const RunView::Lane& lane = LaneOf(item);
    OpInstance instance;
    instance.device = lane.device;
    const int32_t command = lane.slices->CommandOf(item.slice);
    if (command >= 0) {
      const int signature = view_.commands[static_cast<size_t>(command)].signature;
      if (signature >= 0) instance.signature = TextNumber(view_.signatures[static_cast<size_t>(signature)]);
    }
    const int32_t range = lane.slices->RangeOf(item.slice);
    if (range >= 0) instance.range = TextNumber(view_.ranges[static_cast<size_t>(range)]);
    return instance;
  }

  const RunView& view_;
  RunProfile profile_;
  std::set<int> working_;  // indexes of devices
  std::vector<int> name_of_op_;
  std::vector<std::string_view> names_;
  std::unordered_map<std::string_view, int> name_numbers_, text_numbers_;
  std::map<Key, size_t> numbers_;
  std::vector<size_t> occurrence_;
  std::vector<std::vector<OpInstance>> sums_;  // by op, of all steps so far
  const std::atomic<bool>* cancelled_ = nullptr;
};

}  // namespace

StepRange MeasuredStep(std::vector<int64_t> lengths, bool repeat) {
  const auto spread = SpreadOf(lengths);
  if (!spread) return {};
  if (repeat) return {spread->median, spread->p25, spread->p75};
  const std::vector<int64_t> middle = MiddleHalf(std::move(lengths), [](int64_t length) { return length; });
  const double sum = std::accumulate(middle.begin(), middle.end(), 0.0);
  return {sum / static_cast<double>(middle.size()), spread->p25, spread->p75};
}

PathSums PathSumsOf(const RunProfile& profile) {
  PathSums sums;
  for (const OpProfile& op : profile.ops) {
    (op.kind == WorkKind::kLaunch ? sums.launch_ns : sums.transfer_ns) += op.carried_path_ns;
    for (const OpInstance instance : op.instances) {
      const double per_step = static_cast<double>(instance.seen) / static_cast<double>(profile.steps);
      (op.kind == WorkKind::kLaunch ? sums.launch_ns : sums.transfer_ns) += instance.path_ns * per_step;
    }
  }
  // The rest that no op explains, so that the three add up exactly.
  sums.waiting_ns = profile.step_ns - sums.launch_ns - sums.transfer_ns;
  return sums;
}

RunProfile ProfileRun(const RunView& view, int step, const std::atomic<bool>* cancelled, size_t max_items) {
  return Profiler(view).Profile(step, cancelled, max_items);
}

}  // namespace lanescope
