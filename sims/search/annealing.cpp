// SPDX-License-Identifier: Apache-2.0
#include "sims/search/annealing.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "core/base/split_mix.h"
#include "core/base/stop_point.h"
#include "sims/search/placement_evaluator.h"

namespace lanescope::sims {
namespace {

// Temperatures as shares of the start's step time.
constexpr double kHot = 0.02, kCold = 0.0002;

class MoveStream {
 public:
  explicit MoveStream(uint64_t seed) : numbers_(seed) {}
  size_t Below(size_t n) { return static_cast<size_t>(numbers_.Next() % n); }
  // In (0, 1].
  double Uniform() { return static_cast<double>((numbers_.Next() >> 11) + 1) * 0x1p-53; }

 private:
  SplitMixStream numbers_;
};

// A chain's state, and how to take its last move back.
class Chain {
 public:
  Chain(const MoveSpace& space, const PlacementState& start, uint64_t seed)
      : space_(space), state_(start), random_(seed) {
    if (state_.priority.empty()) state_.priority.assign(static_cast<size_t>(space.tasks().num_tasks()), 0);
  }

  const PlacementState& state() const { return state_; }
  MoveStream& random() { return random_; }

  // False where the drawn move changes nothing.
  bool Move() {
    undo_device_.clear();
    undo_priority_ = {-1, 0};
    const size_t kind = random_.Below(100);
    if (kind < 10 || space_.movable().empty()) {
      MovePriority();
    } else if (kind < 55) {
      const int group = Pick(space_.movable());
      Put(group, Pick(space_.tasks().group(group).devices));
    } else if (kind < 75) {
      FollowNeighbour();
    } else if (kind < 85) {
      const int a = Pick(space_.movable()), b = Pick(space_.movable());
      const DeviceId on_a = DeviceOf(a);
      Put(a, DeviceOf(b));
      Put(b, on_a);
    } else {
      MoveMany();
    }
    return !undo_device_.empty() || undo_priority_.first >= 0;
  }

  void Undo() {
    for (size_t i = undo_device_.size(); i-- > 0;)
      state_.device[static_cast<size_t>(undo_device_[i].first)] = undo_device_[i].second;
    if (undo_priority_.first >= 0)
      state_.priority[static_cast<size_t>(undo_priority_.first)] = undo_priority_.second;
  }

 private:
  template <typename Item>
  Item Pick(const std::vector<Item>& from) {
    return from[random_.Below(from.size())];
  }
  DeviceId DeviceOf(int group) const { return state_.device[static_cast<size_t>(group)]; }

  void Put(int group, DeviceId device) {
    DeviceId& mine = state_.device[static_cast<size_t>(group)];
    if (mine == device || !space_.Allows(group, device)) return;
    undo_device_.emplace_back(group, mine);
    mine = device;
  }

  void FollowNeighbour() {
    const int group = Pick(space_.movable());
    if (!space_.neighbours(group).empty()) Put(group, DeviceOf(Pick(space_.neighbours(group))));
  }

  // A name scope, or a group with all its neighbours.
  void MoveMany() {
    if (!space_.scopes().empty() && random_.Below(2) == 0) {
      const std::vector<int>& scope = space_.scopes()[random_.Below(space_.scopes().size())];
      const DeviceId device = Pick(space_.tasks().group(Pick(scope)).devices);
      for (const int group : scope) Put(group, device);
      return;
    }
    const int group = Pick(space_.movable());
    const DeviceId device = Pick(space_.tasks().group(group).devices);
    Put(group, device);
    for (const int other : space_.neighbours(group)) Put(other, device);
  }

  // A task goes before or behind another one.
  void MovePriority() {
    const size_t tasks = state_.priority.size();
    if (tasks == 0) return;
    const size_t moved = random_.Below(tasks), other = random_.Below(tasks);
    const int priority = state_.priority[other] + (random_.Below(2) == 0 ? 1 : -1);
    if (priority == state_.priority[moved]) return;
    undo_priority_ = {static_cast<int>(moved), state_.priority[moved]};
    state_.priority[moved] = priority;
  }

  const MoveSpace& space_;
  PlacementState state_;
  MoveStream random_;
  std::vector<std::pair<int, DeviceId>> undo_device_;
  std::pair<int, int> undo_priority_;
};

void Keep(int64_t ns, const PlacementState& state, size_t count, ChainResult* result) {
  auto& best = result->best;
  if (best.size() >= count && ns >= best.back().first) return;
  for (const auto& [other_ns, other] : best) {
    if (other_ns == ns) return;  // nearly always a twin: devices swapped, or a priority that changes nothing
  }
  const auto at = std::upper_bound(best.begin(), best.end(), ns,
                                   [](int64_t time, const auto& entry) { return time < entry.first; });
  best.emplace(at, ns, state);
  if (best.size() > count) best.pop_back();
}

}  // namespace

MoveSpace::MoveSpace(const TaskGraph& tasks)
    : tasks_(tasks),
      neighbours_(tasks.groups().size()),
      allowed_(tasks.groups().size() * tasks.machine().devices.size(), false) {
  for (int g = 0; g < tasks.num_groups(); ++g) {
    for (const DeviceId device : tasks.group(g).devices) {
      allowed_[static_cast<size_t>(g) * tasks.machine().devices.size() + device.index()] = true;
    }
    if (tasks.group(g).devices.size() > 1) movable_.push_back(g);
  }
  std::set<std::pair<int, int>> edges;
  for (const GraphTask& task : tasks.tasks()) {
    StopPoint();
    for (const TaskRead& read : task.reads) {
      const TaskTensor& tensor = tasks.tensor(read.tensor);
      const int other = tensor.producer >= 0 ? tasks.task(tensor.producer).group : tensor.group;
      if (other < 0 || other == task.group) continue;
      edges.emplace(other, task.group);
      edges.emplace(task.group, other);
    }
  }
  for (const auto& [a, b] : edges) neighbours_[static_cast<size_t>(a)].push_back(b);
  std::map<std::string, std::vector<int>> scopes;
  for (const int g : movable_) {
    StopPoint();
    const std::string& name = tasks.graph().node(tasks.group(g).number).name;
    for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1))
      scopes[name.substr(0, slash)].push_back(g);
  }
  for (auto& [name, groups] : scopes) {
    if (groups.size() > 1 && groups.size() < movable_.size()) scopes_.push_back(std::move(groups));
  }
}

ChainResult Anneal(const MoveSpace& space, const PlacementModel& model, const PlacementState& start,
                   const ChainOptions& options) {
  ChainResult result;
  PlacementEvaluator evaluator(model);
  Chain chain(space, start, options.seed);
  constexpr int64_t kNoLimit = PlacementEvaluator::kTooLong - 1;
  int64_t current = evaluator.Evaluate(chain.state(), kNoLimit, options.memory_share);
  result.evaluations = 1;
  if (current == PlacementEvaluator::kTooLong) return result;
  Keep(current, chain.state(), options.keep, &result);
  const double hot = kHot * static_cast<double>(current);
  const double cooling = std::log(kCold / kHot) / static_cast<double>(options.evaluations);
  while (result.evaluations < options.evaluations) {
    if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) break;
    const double temperature = hot * std::exp(cooling * static_cast<double>(result.evaluations));
    const double allowed = -temperature * std::log(chain.random().Uniform());
    ++result.evaluations;
    if (!chain.Move()) continue;
    const int64_t next =
        evaluator.Evaluate(chain.state(), current + static_cast<int64_t>(allowed), options.memory_share);
    if (next == PlacementEvaluator::kTooLong) {
      chain.Undo();
      continue;
    }
    if (next < current) Keep(next, chain.state(), options.keep, &result);
    current = next;
  }
  return result;
}

}  // namespace lanescope::sims
