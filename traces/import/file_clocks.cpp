// SPDX-License-Identifier: Apache-2.0
#include "traces/import/file_clocks.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "core/base/statistics.h"
#include "core/runs/run_view.h"
#include "traces/store/saturating.h"
#include "traces/store/step_text.h"

namespace lanescope::traces {
namespace {

struct Moment {
  int64_t start_ns = 0, end_ns = 0;
};

// Common events of files, each by start: collectives by kernel and group, steps by number.
struct Landmarks {
  std::map<std::pair<std::string, std::string>, std::vector<Moment>> collectives;
  std::map<std::tuple<int, int64_t>, std::vector<Moment>> steps;
};

void AddLandmarks(const ImportTrace& trace, Landmarks* found) {
  std::vector<char> communication;
  std::vector<std::optional<StepText>> steps;
  for (const std::string& name : trace.names) {
    communication.push_back(IsCommunication(name) ? 1 : 0);
    steps.push_back(ParseStepText(name));
  }
  std::unordered_map<int64_t, int> groups;  // by correlation
  for (const ImportCollective& collective : trace.collectives)
    groups.emplace(collective.correlation, collective.group);
  trace.events.ForEach([&](const ImportEvent& event) {
    if (std::abs(event.start_ns) >= kMaxImportNs || event.end_ns >= kMaxImportNs) return;
    const auto name = static_cast<size_t>(event.name);
    const Moment moment{event.start_ns + trace.base_ns, event.end_ns + trace.base_ns};
    if (event.kind == ImportEvent::Kind::kKernel && communication[name] != 0) {
      const auto group = groups.find(event.correlation);
      const int of = group == groups.end() ? -1 : group->second;
      const std::string& text = of < 0 ? std::string() : trace.names[static_cast<size_t>(of)];
      found->collectives[{trace.names[name], text}].push_back(moment);
    }
    const std::optional<StepText>& step = steps[name];
    if (event.kind == ImportEvent::Kind::kRange && step && step->number >= 0)
      found->steps[{step->rank, step->number}].push_back(moment);
  });
}

Landmarks FindLandmarks(const std::vector<ImportTrace>& traces, const ImportWorker& worker) {
  Landmarks found;
  for (const size_t file : worker) AddLandmarks(traces[file], &found);
  const auto sort = [](auto& moments) {
    for (auto& [key, of_key] : moments) std::ranges::sort(of_key, {}, &Moment::start_ns);
  };
  sort(found.collectives);
  sort(found.steps);
  return found;
}

// As far apart as times since 1970 and times since anything else can be. Times may be anything: beyond this
// no clock is put right, so that what is less a clock stays an integer.
constexpr int64_t kMostAheadNs = kMaxImportNs / 5 * 4;

// The comparison of two files' clocks.
class Comparison {
 public:
  template <typename Moments>
  void Add(const Moments& before, const Moments& other, int64_t before_ahead_ns) {
    for (const auto& [key, moments] : other) {
      const auto same = before.find(key);
      if (same == before.end() || same->second.size() != moments.size()) continue;
      for (size_t n = 0; n < moments.size(); ++n) {
        const Moment first{same->second[n].start_ns - before_ahead_ns,
                           same->second[n].end_ns - before_ahead_ns};
        if (moments[n].start_ns > first.end_ns + kSlackNs || first.start_ns > moments[n].end_ns + kSlackNs)
          ++apart_;
        ahead_.push_back(std::clamp(AddSaturating(moments[n].end_ns, -first.end_ns), -kMostAheadNs / 2 * 3,
                                    kMostAheadNs / 2 * 3));
        lengths_.push_back(moments[n].end_ns - moments[n].start_ns);
      }
    }
  }
  bool empty() const { return ahead_.empty(); }

  int64_t AheadNs() const {
    if (2 * apart_ <= ahead_.size()) return 0;
    const int64_t usual = Median(ahead_), alike = std::max(kAlikeNs, Median(lengths_) / 2);
    const auto count =
        std::ranges::count_if(ahead_, [&](int64_t ahead) { return std::abs(ahead - usual) <= alike; });
    const bool constant = 4 * static_cast<size_t>(count) >= 3 * ahead_.size();
    return constant && std::abs(usual) <= kMostAheadNs ? usual : 0;
  }

 private:
  static constexpr int64_t kSlackNs = 20'000;     // as the clocks of one machine's GPUs may differ
  static constexpr int64_t kAlikeNs = 1'000'000;  // parts of a collective end together

  std::vector<int64_t> ahead_, lengths_;
  size_t apart_ = 0;
};

// Where nothing is in common with the file: empty. Programs that are no ranks of a job may have steps too.
std::optional<int64_t> AheadOf(const Landmarks& before, const Landmarks& other, int64_t before_ahead_ns,
                               bool ranks) {
  Comparison collectives, steps;
  collectives.Add(before.collectives, other.collectives, before_ahead_ns);
  if (!collectives.empty()) return collectives.AheadNs();
  if (ranks) steps.Add(before.steps, other.steps, before_ahead_ns);
  if (!steps.empty()) return steps.AheadNs();
  return std::nullopt;
}

}  // namespace

void FindClocks(const std::vector<ImportWorker>& workers, std::vector<ImportTrace>* traces) {
  if (workers.size() < 2) return;
  std::vector<Landmarks> landmarks;
  for (const ImportWorker& worker : workers) landmarks.push_back(FindLandmarks(*traces, worker));
  const auto first_of = [&](size_t worker) -> const ImportTrace& {
    return (*traces)[workers[worker].front()];
  };
  std::vector<size_t> known = {0};
  std::vector<char> is_known(workers.size(), 0);
  is_known[0] = 1;
  // Ranks of one group tell of each other, whichever group the first file is in.
  for (size_t next = 0; next < known.size(); ++next) {
    const size_t before = known[next];
    for (size_t i = 0; i < workers.size(); ++i) {
      if (is_known[i] != 0) continue;
      const bool ranks = first_of(before).rank && first_of(i).rank;
      const auto ahead = AheadOf(landmarks[before], landmarks[i], first_of(before).clock_ahead_ns, ranks);
      if (!ahead) continue;
      for (const size_t file : workers[i]) (*traces)[file].clock_ahead_ns = *ahead;
      is_known[i] = 1;
      known.push_back(i);
    }
  }
}

}  // namespace lanescope::traces
