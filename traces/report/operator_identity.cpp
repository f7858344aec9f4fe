// SPDX-License-Identifier: Apache-2.0
#include "traces/report/operator_identity.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "traces/read/activity_names.h"
#include "traces/read/ranges_around.h"
#include "traces/report/program_places.h"

namespace lanescope::traces {
namespace {

// "ProfilerStep#3", "step 12": as PyTorch and people number what repeats.
bool IsNumbered(std::string_view name) { return !name.empty() && name.back() >= '0' && name.back() <= '9'; }

// Names of a launch, the best first.
class IdentityFinder {
 public:
  explicit IdentityFinder(const TraceRun& run) : run_(run), around_(RangesAround(run)) {}

  const std::vector<std::string>& Of(int range) {
    const auto [entry, is_new] = known_.try_emplace(range);
    if (is_new) entry->second = Find(range);
    return entry->second;
  }

 private:
  std::vector<std::string> Find(int innermost) const {
    std::vector<std::string> shaped, plain, modules;
    int depth = 0;
    for (int range = innermost; range >= 0 && depth < kDeepestRanges;
         range = around_[static_cast<size_t>(range)], ++depth) {
      const TraceRange& at = run_.ranges[static_cast<size_t>(range)];
      const std::string name(RangeName(run_.Text(at.text)));
      const std::string& shapes =
          run_.Text(at.details < 0 ? -1 : run_.operators[static_cast<size_t>(at.details)].shapes);
      if (ModuleIn(name)) {
        modules.push_back(name);
      } else if (!shapes.empty() || !(IsPythonFrame(name) || IsNumbered(name))) {
        if (!shapes.empty()) shaped.push_back(name + " " + shapes);
        plain.push_back(name);
      }
    }
    std::vector<std::string> names(shaped.rbegin(), shaped.rend());
    names.insert(names.end(), plain.rbegin(), plain.rend());
    names.insert(names.end(), modules.begin(), modules.end());
    return names;
  }

  const TraceRun& run_;
  const std::vector<int> around_;
  std::unordered_map<int, std::vector<std::string>> known_;
};

std::unordered_set<std::string> AllNames(const TraceRun& run, IdentityFinder* finder) {
  std::unordered_set<std::string> all;
  for (const TraceLaunch& launch : run.launches) {
    for (const std::string& name : finder->Of(launch.range)) all.insert(name);
  }
  return all;
}

void Rename(TraceRun* run, IdentityFinder* finder, const std::unordered_set<std::string>& others) {
  std::unordered_map<std::string, int> numbers;
  for (TraceLaunch& launch : run->launches) {
    if (launch.node >= 0) continue;
    const std::vector<std::string>& names = finder->Of(launch.range);
    const auto shared = std::ranges::find_if(names, [&](const auto& name) { return others.contains(name); });
    if (shared == names.end()) continue;
    const auto [entry, is_new] = numbers.try_emplace(*shared, static_cast<int>(run->texts.size()));
    if (is_new) run->texts.push_back(*shared);
    launch.name = entry->second;
  }
}

}  // namespace

void NameByOperators(TraceRun* a, TraceRun* b) {
  IdentityFinder of_a(*a), of_b(*b);
  const std::unordered_set<std::string> names_a = AllNames(*a, &of_a), names_b = AllNames(*b, &of_b);
  Rename(a, &of_a, names_b);
  Rename(b, &of_b, names_a);
}

double MatchedShare(const RunDiff& diff) {
  double all = 0, matched = 0;
  for (const OpDiff& op : diff.ops) {
    const double ns = op.a.ns + op.b.ns;
    all += ns;
    if (op.a.count > 0 && op.b.count > 0) matched += ns;
  }
  return all > 0 ? matched / all : 1;
}

namespace {

MatchedRuns MatchByNames(const RunProfile& a, const RunProfile& b) {
  MatchedRuns matched{DiffRuns(a, b), !a.by_node && !b.by_node};
  matched.share = matched.share_of_kernels = MatchedShare(matched.diff);
  return matched;
}

void TakeOperators(const ProfilesByOperators& by_operators, bool however_few, MatchedRuns* matched) {
  const auto [a, b] = by_operators();
  RunDiff diff = DiffRuns(a, b);
  const double share = MatchedShare(diff);
  if (!however_few && share <= matched->share) return;
  matched->diff = std::move(diff);
  matched->share = share;
  matched->by_operators = true;
}

}  // namespace

MatchedRuns MatchRuns(const RunProfile& a, const RunProfile& b, const ProfilesByOperators& by_operators) {
  constexpr double kEnoughMatched = 0.5;
  MatchedRuns matched = MatchByNames(a, b);
  if (matched.of_kernels && matched.share < kEnoughMatched) TakeOperators(by_operators, false, &matched);
  return matched;
}

MatchedRuns MatchByOperators(const RunProfile& a, const RunProfile& b,
                             const ProfilesByOperators& by_operators) {
  MatchedRuns matched = MatchByNames(a, b);
  if (matched.of_kernels) TakeOperators(by_operators, true, &matched);
  return matched;
}

}  // namespace lanescope::traces
