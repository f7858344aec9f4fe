// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "traces/replay/change.h"
#include "traces/replay/glob.h"

namespace lanescope::traces {
namespace {

// Launched in a range whose name matches, of the launching thread.
class RangeChooser {
 public:
  RangeChooser(std::string_view glob, const ReplayGraph& graph) : graph_(graph) {
    for (const TraceRange& range : graph.ranges) {
      if (range.text >= 0 && MatchesGlob(glob, graph.names[static_cast<size_t>(range.text)]))
        ranges_[range.global_tid].push_back({range.start_ns, range.end_ns});
    }
    // Ranges that lie in one another become one.
    for (auto& [thread, spans] : ranges_) {
      std::ranges::sort(spans);
      std::vector<Span> joined;
      for (const Span& span : spans) {
        if (!joined.empty() && span.first <= joined.back().second) {
          joined.back().second = std::max(joined.back().second, span.second);
        } else {
          joined.push_back(span);
        }
      }
      spans = std::move(joined);
    }
  }

  bool Has(const ReplayTask& task) const {
    if (!task.on_device() || task.call < 0) return false;
    const ReplayTask& call = graph_.tasks[static_cast<size_t>(task.call)];
    const auto thread = ranges_.find(graph_.queues[static_cast<size_t>(call.queue)].global_tid);
    if (thread == ranges_.end()) return false;
    const auto after = std::ranges::upper_bound(thread->second, call.start_ns, {},
                                                [](const Span& span) { return span.first; });
    return after != thread->second.begin() && call.start_ns < (after - 1)->second;
  }

 private:
  using Span = std::pair<int64_t, int64_t>;
  const ReplayGraph& graph_;
  std::map<int64_t, std::vector<Span>> ranges_;  // by thread
};

}  // namespace

std::vector<char> InRange(std::string_view glob, const ReplayGraph& graph) {
  const RangeChooser chooser(glob, graph);
  std::vector<char> chosen;
  for (const ReplayTask& task : graph.tasks) chosen.push_back(chooser.Has(task) ? 1 : 0);
  return chosen;
}

void MoveToStream(const std::vector<char>& chosen, int64_t stream, ReplayGraph* changed) {
  ReplayGraph& graph = *changed;
  OverlapTasks(chosen, changed);
  using Place = std::pair<int64_t, int>;  // process and device
  std::map<Place, int> queues;            // of the stream
  for (size_t q = 0; q < graph.queues.size(); ++q) {
    const ReplayQueue& queue = graph.queues[q];
    if (queue.device >= 0 && queue.stream == stream)
      queues[{queue.global_pid, queue.device}] = static_cast<int>(q);
  }
  std::vector<std::vector<ReplayHold>> more(graph.tasks.size());
  std::map<int, int> last;  // by queue
  for (size_t i = 0; i < graph.tasks.size(); ++i) {
    ReplayTask& task = graph.tasks[i];
    if (!task.on_device()) continue;
    if (chosen[i] != 0) {
      const ReplayQueue from = graph.queues[static_cast<size_t>(task.queue)];
      const auto [queue, is_new] =
          queues.try_emplace({from.global_pid, from.device}, static_cast<int>(graph.queues.size()));
      if (is_new) {
        graph.queues.push_back(
            {from.device, from.global_pid, "stream " + std::to_string(stream), 0, static_cast<int>(stream)});
      }
      task.queue = queue->second;
      task.apart = false;
    }
    const auto [before, first] = last.try_emplace(task.queue, static_cast<int>(i));
    if (first) continue;
    const bool joins = chosen[i] != chosen[static_cast<size_t>(before->second)];
    if (joins || chosen[i] != 0)
      more[i].push_back({ReplayHold::Why::kStream, before->second, joins ? graph.launch.gap_ns : 0});
    before->second = static_cast<int>(i);
  }
  AddHolds(more, changed);
}

}  // namespace lanescope::traces
