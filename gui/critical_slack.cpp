#include "gui/critical_slack.h"

#include <algorithm>
#include <numeric>

namespace lanescope::gui {
namespace {

// The work of one step and how its pieces wait for each other.
class DependencyGraph {
 public:
  DependencyGraph(const RunData& run, const RunStep& step, StepPath* path)
      : run_(run), step_(step), path_(*path) {}

  void Solve() {
    CollectWork();
    if (path_.work.empty()) {
      path_.problem = "no commands were recorded in this step";
      return;
    }
    CollectEdges();
    FindPath();
    FindSlack();
  }

 private:
  void CollectWork() {
    std::vector<StepWork>& work = path_.work;
    for (size_t c = 0; c < run_.commands.size(); ++c) {
      const int64_t slice = run_.FindSlice(static_cast<int>(c), step_.step);
      if (slice < 0) continue;
      const int number = run_.commands[c].lane;
      const Lane& lane = run_.lanes[static_cast<size_t>(number)];
      const auto i = static_cast<size_t>(slice);
      work.push_back({static_cast<int>(c), number, static_cast<uint32_t>(slice), lane.start_ns[i],
                      lane.end_ns[i], 0, false});
    }
    std::stable_sort(work.begin(), work.end(), [](const StepWork& a, const StepWork& b) {
      return std::pair(a.start_ns, a.end_ns) < std::pair(b.start_ns, b.end_ns);
    });
    work_of_.assign(run_.commands.size(), -1);
    seen_for_.assign(run_.commands.size(), -1);
    for (size_t i = 0; i < work.size(); ++i)
      work_of_[static_cast<size_t>(work[i].command)] = static_cast<int>(i);
  }

  // Predecessors of every piece: dependencies (through Record and Wait), and the one before it in its lane's
  // row.
  void CollectEdges() {
    before_.resize(path_.work.size());
    binding_.assign(path_.work.size(), -1);
    std::vector<int> last_in_row;
    std::vector<std::pair<int, int>> rows;  // (lane, row)
    for (size_t i = 0; i < path_.work.size(); ++i) {
      const StepWork& work = path_.work[i];
      AddDependencies(work.command, static_cast<int>(i));
      const std::pair row(work.lane, run_.lanes[static_cast<size_t>(work.lane)].RowOf(work.slice));
      const auto found = std::find(rows.begin(), rows.end(), row);
      const auto at = static_cast<size_t>(found - rows.begin());
      const size_t dependencies = before_[i].size();
      if (found == rows.end()) {
        rows.push_back(row);
        last_in_row.push_back(static_cast<int>(i));
      } else {
        before_[i].push_back(last_in_row[at]);
        last_in_row[at] = static_cast<int>(i);
      }
      Bind(i, dependencies);
    }
  }

  // Passes through what has no slices in this step, each once.
  void AddDependencies(int command, int to) {
    std::vector<int> open{command};
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      for (const uint32_t other : run_.Predecessors(at)) {
        if (seen_for_[other] == to) continue;
        seen_for_[other] = to;
        const int work = work_of_[other];
        if (work < 0) {
          open.push_back(static_cast<int>(other));
        } else if (work != to) {
          before_[static_cast<size_t>(to)].push_back(work);
        }
      }
    }
  }

  // What ended last among those that ended before this began; a dependency before the lane's predecessor.
  void Bind(size_t i, size_t dependencies) {
    auto& before = before_[i];
    // A cycle in a damaged file, or clocks that disagree: what had not ended cannot have been waited for.
    size_t kept = 0;
    for (size_t k = 0; k < before.size(); ++k) {
      const int other = before[k];
      if (path_.work[static_cast<size_t>(other)].end_ns > path_.work[i].start_ns ||
          other >= static_cast<int>(i))
        continue;
      const bool dependency = k < dependencies;
      int& best = binding_[i];
      const int64_t end = path_.work[static_cast<size_t>(other)].end_ns;
      const int64_t best_end = best < 0 ? 0 : path_.work[static_cast<size_t>(best)].end_ns;
      const bool smaller = best >= 0 && path_.work[static_cast<size_t>(other)].command <
                                            path_.work[static_cast<size_t>(best)].command;
      if (best < 0 || end > best_end || (end == best_end && dependency && smaller)) best = other;
      before[kept++] = other;
    }
    before.resize(kept);
  }

  void FindPath() {
    int last = 0;
    for (size_t i = 1; i < path_.work.size(); ++i) {
      if (path_.work[i].end_ns > path_.work[static_cast<size_t>(last)].end_ns) last = static_cast<int>(i);
    }
    for (int i = last; i >= 0; i = binding_[static_cast<size_t>(i)]) {
      StepWork& work = path_.work[static_cast<size_t>(i)];
      work.critical = true;
      path_.path.push_back(i);
      const bool copy = run_.commands[static_cast<size_t>(work.command)].kind == CommandKind::kCopy;
      (copy ? path_.copy_ns : path_.launch_ns) += work.end_ns - work.start_ns;
    }
    std::reverse(path_.path.begin(), path_.path.end());
    path_.step_ns = step_.end_ns - step_.start_ns;
    path_.waiting_ns = path_.step_ns - path_.launch_ns - path_.copy_ns;
  }

  // Backwards: a piece must end before the latest start of each successor less that one's fixed hand-over.
  void FindSlack() {
    int64_t end = INT64_MIN;
    for (const StepWork& work : path_.work) end = std::max(end, work.end_ns);
    std::vector<int64_t> latest(path_.work.size(), end);
    for (size_t i = path_.work.size(); i-- > 0;) {
      StepWork& work = path_.work[i];
      work.slack_ns = latest[i] - work.end_ns;
      if (binding_[i] < 0) continue;
      const int64_t handover = work.start_ns - path_.work[static_cast<size_t>(binding_[i])].end_ns;
      const int64_t latest_start = work.start_ns + work.slack_ns;
      for (const int before : before_[i]) {
        int64_t& limit = latest[static_cast<size_t>(before)];
        limit = std::min(limit, latest_start - handover);
      }
    }
  }

  const RunData& run_;
  const RunStep& step_;
  StepPath& path_;
  std::vector<int> seen_for_;             // by command: the work that looked at it last
  std::vector<int> work_of_;              // by command
  std::vector<std::vector<int>> before_;  // by work
  std::vector<int> binding_;              // by work
};

}  // namespace

StepPath FindStepPath(const RunData& run, int step) {
  StepPath path;
  if (step < 0) step = run.MedianStep();
  if (step < 0 || static_cast<size_t>(step) >= run.steps.size()) {
    path.problem = "the trace has no steps";
    return path;
  }
  const RunStep& chosen = run.steps[static_cast<size_t>(step)];
  path.step = chosen.step;
  path.step_ns = chosen.end_ns - chosen.start_ns;
  if (run.commands.empty() || run.successors.empty()) {
    path.problem = "the trace does not say what waits for what, so there is no critical path";
    return path;
  }
  DependencyGraph(run, chosen, &path).Solve();
  return path;
}

}  // namespace lanescope::gui
