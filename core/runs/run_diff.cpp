// SPDX-License-Identifier: Apache-2.0
#include "core/runs/run_diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <map>
#include <set>

#include "core/base/units.h"

namespace lanescope {
namespace {

using OpKey = std::pair<WorkKind, std::string>;
using OpsByKey = std::map<OpKey, std::vector<const OpProfile*>>;

int IdOf(const RunProfile& profile, const OpProfile& op) {
  return op.instances.empty() ? INT_MAX
                              : profile.devices[static_cast<size_t>(op.instances.front().device)].id;
}

// Kernels have one profile a device, nodes one.
OpsByKey OpsOf(const RunProfile& profile) {
  OpsByKey ops;
  for (const OpProfile& op : profile.ops) ops[{op.kind, op.match}].push_back(&op);
  for (auto& [key, of_key] : ops) {
    std::stable_sort(of_key.begin(), of_key.end(), [&](const OpProfile* x, const OpProfile* y) {
      return IdOf(profile, *x) < IdOf(profile, *y);
    });
  }
  return ops;
}

std::string_view KindOfDevice(const RunProfile& profile, int device) {
  return profile.devices[static_cast<size_t>(device)].kind;
}

std::string_view TextOf(const RunProfile& profile, int text) {
  return text < 0 ? std::string_view() : std::string_view(profile.texts[static_cast<size_t>(text)]);
}

bool SameWork(const RunProfile& a, const OpInstance& x, const RunProfile& b, const OpInstance& y) {
  return TextOf(a, x.signature) == TextOf(b, y.signature) &&
         KindOfDevice(a, x.device) == KindOfDevice(b, y.device);
}

// The part of an instance's time on the path that is contention (ns, per step in which it ran).
double ContentionOf(const OpInstance& instance, const OpInstance& other) {
  if (instance.ns <= 0) return 0;
  const double excess = std::max(0.0, instance.ns - other.ns);
  return instance.path_ns / instance.ns * std::min(excess, instance.shared_ns);
}

double PerStep(const RunProfile& profile, const OpInstance& instance, double value) {
  return value * static_cast<double>(instance.seen) / static_cast<double>(profile.steps);
}

// Parts without contention.
StepParts PartsOf(const RunProfile& profile) {
  const PathSums sums = PathSumsOf(profile);
  return {profile.step_ns, sums.launch_ns, sums.transfer_ns, sums.waiting_ns, 0};
}

void MoveToContention(const RunProfile& profile, WorkKind kind, const OpInstance& instance,
                      const OpInstance& other, StepParts* parts) {
  const double contention = PerStep(profile, instance, ContentionOf(instance, other));
  (kind == WorkKind::kLaunch ? parts->compute_ns : parts->transfer_ns) -= contention;
  parts->contention_ns += contention;
}

void SplitContention(const RunProfile& a, const OpsByKey& ops_a, const RunProfile& b, const OpsByKey& ops_b,
                     RunDiff* diff) {
  for (const auto& [key, of_a] : ops_a) {
    const auto found = ops_b.find(key);
    if (found == ops_b.end()) continue;
    const auto& of_b = found->second;
    for (size_t d = 0; d < std::min(of_a.size(), of_b.size()); ++d) {
      const auto &in_a = of_a[d]->instances, &in_b = of_b[d]->instances;
      for (size_t i = 0; i < std::min(in_a.size(), in_b.size()); ++i) {
        const OpInstance x = in_a[i], y = in_b[i];
        if (!SameWork(a, x, b, y)) continue;
        MoveToContention(a, key.first, x, y, &diff->parts_a);
        MoveToContention(b, key.first, y, x, &diff->parts_b);
      }
    }
  }
}

// In a mean step.
double LaunchesOf(const RunProfile& profile) {
  double launches = 0;
  for (const OpProfile& op : profile.ops) {
    if (op.kind == WorkKind::kCopy) continue;
    for (const OpInstance instance : op.instances) launches += PerStep(profile, instance, 1);
  }
  return launches;
}

// How often the ops of a mean step are launched, rounded: steps that others disturbed may lack some.
std::map<OpKey, long long> LaunchCountsOf(const OpsByKey& ops, const RunProfile& profile) {
  std::map<OpKey, long long> work;
  for (const auto& [key, of_key] : ops) {
    double launches = 0;
    for (const OpProfile* op : of_key) {
      if (op->kind == WorkKind::kCopy) continue;
      for (const OpInstance instance : op->instances) launches += PerStep(profile, instance, 1);
    }
    if (const long long rounded = std::llround(launches); rounded > 0) work.emplace(key, rounded);
  }
  return work;
}

// "at::native::reduce_kernel" for "void at::native::reduce_kernel<512, 1, ..>(..)".
std::string_view BriefName(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  const std::string_view brief = name.substr(0, name.find_first_of("<("));
  return brief.empty() ? name : brief;
}

// The kernels of both runs that took the most time, one launch beside one launch.
std::string PerLaunchText(const RunDiff& diff) {
  constexpr size_t kShown = 3;
  constexpr double kAsLong = 0.005;
  std::vector<const OpDiff*> both;
  for (const OpDiff& op : diff.ops) {
    if (op.kind == WorkKind::kLaunch && op.LaunchChange()) both.push_back(&op);
  }
  if (both.empty()) return "; no kernel ran in both";
  std::stable_sort(both.begin(), both.end(),
                   [](const OpDiff* x, const OpDiff* y) { return x->a.ns + x->b.ns > y->a.ns + y->b.ns; });
  std::string text = "; one launch of ";
  for (size_t i = 0; i < std::min(kShown, both.size()); ++i) {
    const double change = *both[i]->LaunchChange();
    text += fmt::format("{}{} takes ", i == 0 ? "" : ", of ", BriefName(both[i]->name));
    if (std::abs(change) < kAsLong) {
      text += "as long";
    } else {
      text += fmt::format("{} {}", PercentText(std::abs(change), 0), change >= 0 ? "longer" : "less");
    }
  }
  return text;
}

constexpr std::string_view kOutside = "(outside all ranges)";

// Rows of the table, by op or by range.
class DiffRows {
 public:
  explicit DiffRows(bool by_ranges) : by_ranges_(by_ranges) {}

  void Add(const RunProfile& profile, OpDiff::Side OpDiff::*side) {
    std::map<OpKey, std::set<std::string>> devices;
    auto& places = side == &OpDiff::a ? places_a_ : places_b_;
    const std::map<int, int> place_of = PlacesOf(profile);
    for (const OpProfile& op : profile.ops) {
      for (const OpInstance instance : op.instances) {
        const OpKey key = KeyOf(profile, op, instance);
        OpDiff& row = rows_[key];
        if (!by_ranges_) row.op = op.op;
        if (row.name.empty()) row.name = by_ranges_ ? key.second : op.name;
        OpDiff::Side& into = row.*side;
        if (into.name.empty()) into.name = by_ranges_ ? key.second : op.name;
        into.count += PerStep(profile, instance, 1);
        into.ns += PerStep(profile, instance, instance.ns);
        into.path_ns += PerStep(profile, instance, instance.path_ns);
        into.wait_ns += PerStep(profile, instance, instance.wait_ns);
        if (instance.path_ns > 0) into.path_count += PerStep(profile, instance, 1);
        places[key].insert(place_of.at(instance.device));
        devices[key].insert(profile.devices[static_cast<size_t>(instance.device)].label);
      }
      if (op.carried_path_ns + op.carried_wait_ns == 0) continue;
      OpDiff& row = rows_[KeyOf(profile, op, {})];
      if (!by_ranges_) row.op = op.op;
      if (row.name.empty()) row.name = by_ranges_ ? std::string(kOutside) : op.name;
      (row.*side).path_ns += op.carried_path_ns;
      (row.*side).wait_ns += op.carried_wait_ns;
    }
    for (const auto& [key, labels] : devices) {
      std::string& text = (rows_[key].*side).devices;
      for (const std::string& label : labels) text += (text.empty() ? "" : " ") + label;
    }
  }

  std::vector<OpDiff> Take() {
    std::vector<OpDiff> result;
    for (auto& [key, row] : rows_) {
      row.kind = key.first;
      row.change = row.a.count == 0                   ? OpDiff::Change::kOnlyB
                   : row.b.count == 0                 ? OpDiff::Change::kOnlyA
                   : places_a_[key] != places_b_[key] ? OpDiff::Change::kMoved
                                                      : OpDiff::Change::kSame;
      result.push_back(std::move(row));
    }
    std::stable_sort(result.begin(), result.end(), [](const OpDiff& x, const OpDiff& y) {
      const double of_x = std::abs(x.PathChange()), of_y = std::abs(y.PathChange());
      if (of_x != of_y) return of_x > of_y;
      return std::abs(x.b.ns - x.a.ns) > std::abs(y.b.ns - y.a.ns);
    });
    return result;
  }

 private:
  // The keys that tell devices apart: of graphs their numbers; of ranks of a job, which see other devices,
  // their place among those that work.
  static std::map<int, int> PlacesOf(const RunProfile& profile) {
    std::set<int> ids;
    std::map<int, int> places;
    const auto for_each_device = [&](const auto& visit) {
      for (const OpProfile& op : profile.ops) {
        for (const OpInstance instance : op.instances)
          visit(instance.device, profile.devices[static_cast<size_t>(instance.device)].id);
      }
    };
    for_each_device([&](int, int id) { ids.insert(id); });
    for_each_device([&](int device, int id) {
      if (places.contains(device)) return;
      places.emplace(device,
                     profile.by_node ? id : static_cast<int>(std::distance(ids.begin(), ids.find(id))));
    });
    return places;
  }
  OpKey KeyOf(const RunProfile& profile, const OpProfile& op, const OpInstance& instance) const {
    if (!by_ranges_) return {op.kind, op.match};
    return {WorkKind::kLaunch,
            instance.range < 0 ? std::string(kOutside) : std::string(TextOf(profile, instance.range))};
  }

  bool by_ranges_;
  std::map<OpKey, OpDiff> rows_;
  std::map<OpKey, std::set<int>> places_a_, places_b_;
};

}  // namespace

std::optional<double> OpDiff::LengthChange() const {
  if (a.count <= 0 || b.count <= 0 || a.ns <= 0) return std::nullopt;
  return (b.ns - a.ns) / a.ns;
}

std::optional<double> OpDiff::LaunchChange() const {
  if (a.count <= 0 || b.count <= 0 || a.ns <= 0) return std::nullopt;
  const double of_a = a.ns / a.count;
  return (b.ns / b.count - of_a) / of_a;
}

std::string_view ChangeName(OpDiff::Change change) {
  switch (change) {
    case OpDiff::Change::kSame:
      return "same";
    case OpDiff::Change::kMoved:
      return "moved";
    case OpDiff::Change::kOnlyA:
      return "only A";
    case OpDiff::Change::kOnlyB:
      return "only B";
  }
  return "same";
}

RunDiff DiffRuns(const RunProfile& a, const RunProfile& b, bool by_ranges) {
  RunDiff diff;
  diff.steps_a = a.steps;
  diff.steps_b = b.steps;
  diff.end_wait_a_ns = a.end_wait_ns;
  diff.end_wait_b_ns = b.end_wait_ns;
  diff.parts_a = PartsOf(a);
  diff.parts_b = PartsOf(b);
  diff.range_a = a.range;
  diff.range_b = b.range;
  const OpsByKey ops_a = OpsOf(a), ops_b = OpsOf(b);
  SplitContention(a, ops_a, b, ops_b, &diff);
  diff.same_work = LaunchCountsOf(ops_a, a) == LaunchCountsOf(ops_b, b);
  diff.by_ranges = by_ranges;
  diff.whole = a.whole || b.whole;
  diff.launches_a = LaunchesOf(a);
  diff.launches_b = LaunchesOf(b);
  DiffRows rows(by_ranges);
  rows.Add(a, &OpDiff::a);
  rows.Add(b, &OpDiff::b);
  diff.ops = rows.Take();
  return diff;
}

namespace {

// Less than a percent is not 0%.
std::string ShareText(double share) {
  return share < 0.0001 ? "less than 0.01%" : PercentText(share, share < 0.01 ? 2 : 0);
}

}  // namespace

std::string DiffVerdict(const RunDiff& diff, std::string_view name_a, std::string_view name_b) {
  const double change = diff.parts_b.step_ns - diff.parts_a.step_ns;
  if (diff.whole && !diff.same_work) {
    return fmt::format(
        "Without steps the lengths of {} ({}) and {} ({}) do not compare, as they are not of the same "
        "work: {:.0f} launches against {:.0f}{}.",
        name_a, TimeText(diff.parts_a.step_ns), name_b, TimeText(diff.parts_b.step_ns), diff.launches_a,
        diff.launches_b, PerLaunchText(diff));
  }
  if (change == 0) return fmt::format("{} and {} take equally long.", name_a, name_b);
  if (CannotTell(diff.range_a, diff.range_b)) {
    return fmt::format("Cannot tell which is faster: a step of {} takes {} ({} to {}), of {} {} ({} to {}).",
                       name_a, TimeText(diff.range_a.step_ns), TimeText(diff.range_a.low_ns),
                       TimeText(diff.range_a.high_ns), name_b, TimeText(diff.range_b.step_ns),
                       TimeText(diff.range_b.low_ns), TimeText(diff.range_b.high_ns));
  }
  const std::pair<std::string_view, double> parts[] = {
      {"compute", diff.parts_b.compute_ns - diff.parts_a.compute_ns},
      {"transfer", diff.parts_b.transfer_ns - diff.parts_a.transfer_ns},
      {"waiting", diff.parts_b.waiting_ns - diff.parts_a.waiting_ns},
      {"contention", diff.parts_b.contention_ns - diff.parts_a.contention_ns}};
  std::string text = fmt::format(
      "{} takes {}{}, {} {}: {} {} ({})", name_b, TimeText(diff.parts_b.step_ns), diff.whole ? "" : " a step",
      name_a, TimeText(diff.parts_a.step_ns), TimeText(std::abs(change)), change > 0 ? "slower" : "faster",
      ShareText(diff.parts_a.step_ns == 0 ? 0 : std::abs(change) / diff.parts_a.step_ns));
  std::vector<std::pair<std::string_view, double>> ranked(std::begin(parts), std::end(parts));
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& x, const auto& y) { return std::abs(x.second) > std::abs(y.second); });
  text += "; ";
  bool first = true;
  for (const auto& [name, ns] : ranked) {
    if (std::abs(ns) < 0.5) continue;
    text += fmt::format("{}{} {}", first ? "" : ", ", name, SignedTimeText(ns));
    first = false;
  }
  return text + ".";
}

}  // namespace lanescope
