// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "traces/replay/change.h"
#include "traces/store/api_call_name.h"

namespace lanescope::traces {
namespace {

using Kind = ReplayTask::Kind;
using Why = ReplayHold::Why;

// The work that a process launches in a step and between two of its waits: one graph.
struct Captured {
  int64_t global_pid = 0;
  int step = 0;
  std::vector<int> calls, operations;
};

class Capturer {
 public:
  explicit Capturer(ReplayGraph* graph)
      : graph_(*graph), part_of_(graph->tasks.size(), -1), more_(graph->tasks.size()) {}

  int64_t Capture() {
    FindParts();
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (!IsGraph(p)) CaptureCalls(parts_[p]);
    }
    DropHostWork();
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (!IsGraph(p)) CaptureOperations(static_cast<int>(p));
    }
    WaitForEach();
    AddHolds(more_, &graph_);
    OrderTasks(&graph_);
    return static_cast<int64_t>(parts_.size());
  }

 private:
  ReplayTask& Task(int number) { return graph_.tasks[static_cast<size_t>(number)]; }
  int64_t ProcessOf(const ReplayTask& task) const {
    return graph_.queues[static_cast<size_t>(task.queue)].global_pid;
  }
  // It is one already.
  bool IsGraph(size_t part) {
    return parts_[part].calls.size() == 1 && LaunchesGraph(graph_, Task(parts_[part].calls.front()));
  }
  bool Waits(size_t task) const {
    return std::ranges::any_of(graph_.holds[static_cast<int>(task)], [](const ReplayHold& hold) {
      return hold.why == Why::kSync && hold.from >= 0;
    });
  }

  void FindParts() {
    std::set<int> launching;
    for (const ReplayTask& task : graph_.tasks) {
      if (task.call >= 0) launching.insert(task.call);
    }
    std::map<int64_t, int> open;  // by process
    for (size_t i = 0; i < graph_.tasks.size(); ++i) {
      const ReplayTask& task = graph_.tasks[i];
      if (task.on_device()) {
        part_of_[i] = task.call < 0 ? -1 : part_of_[static_cast<size_t>(task.call)];
        if (part_of_[i] >= 0)
          parts_[static_cast<size_t>(part_of_[i])].operations.push_back(static_cast<int>(i));
        continue;
      }
      int& part = open.try_emplace(ProcessOf(task), -1).first->second;
      if (Waits(i)) part = -1;
      if (task.step < 0 || !launching.contains(static_cast<int>(i))) continue;
      if (part < 0 || parts_[static_cast<size_t>(part)].step != task.step) {
        part = static_cast<int>(parts_.size());
        parts_.push_back({ProcessOf(task), task.step, {}, {}});
      }
      parts_[static_cast<size_t>(part)].calls.push_back(static_cast<int>(i));
      part_of_[i] = part;
    }
  }

  void CaptureCalls(const Captured& part) {
    ReplayTask& first = Task(part.calls.front());
    first.ns = graph_.launch.call_ns + LaunchTimes::GraphNs(std::ssize(part.operations));
    first.opens_step = true;
    kept_.insert(part.calls.front());
    for (const int call : part.calls) threads_.emplace(Task(call).queue, part.step);
  }

  // A thread that launched the step's operations has nothing left to do in it but to launch the graph and to
  // wait.
  void DropHostWork() {
    for (size_t i = 0; i < graph_.tasks.size(); ++i) {
      if (!Waits(i)) continue;
      for (const ReplayHold& hold : graph_.holds[static_cast<int>(i)]) {
        if (hold.why == Why::kThread && hold.from >= 0 && !part_of_call(hold.from)) kept_.insert(hold.from);
      }
    }
    for (size_t i = 0; i < graph_.tasks.size(); ++i) {
      ReplayTask& task = graph_.tasks[i];
      if (task.on_device() || !threads_.contains({task.queue, task.step})) continue;
      if (!kept_.contains(static_cast<int>(i))) task.ns = 0;
    }
  }
  bool part_of_call(int task) const { return part_of_[static_cast<size_t>(task)] >= 0; }

  // Nodes wait for those before them, the first for the launch.
  void CaptureOperations(int number) {
    const Captured& part = parts_[static_cast<size_t>(number)];
    const LaunchTimes& times = graph_.launch;
    for (const int operation : part.operations) {
      for (int h = graph_.holds.first[static_cast<size_t>(operation)];
           h < graph_.holds.first[static_cast<size_t>(operation) + 1]; ++h) {
        ReplayHold& hold = graph_.holds.items[static_cast<size_t>(h)];
        if (hold.from < 0) continue;
        if (hold.why == Why::kLaunch) {
          hold.from = part.calls.front();
          hold.lag_ns = times.latency_ns + LaunchTimes::GraphNs(std::ssize(part.operations));
          continue;
        }
        const int other = part_of_[static_cast<size_t>(hold.from)];
        if (other == number) {
          const int64_t gap = times.NodeGap(IsKernel(Task(hold.from)), IsKernel(Task(operation)));
          hold.lag_ns = hold.lag_ns < 0 ? hold.lag_ns : gap;
        } else if (other > number && parts_[static_cast<size_t>(other)].global_pid == part.global_pid) {
          hold.from = -1;  // a later graph
        } else {
          hold.lag_ns = std::min(hold.lag_ns, times.gap_ns);
        }
      }
    }
  }
  static bool IsKernel(const ReplayTask& task) {
    return task.kind == Kind::kKernel || task.kind == Kind::kCollective;
  }

  // A step is what lies between its launch and its end: the next one is launched when that is known.
  void WaitForEach() {
    std::map<int64_t, int> before;  // by process
    for (size_t p = 0; p < parts_.size(); ++p) {
      const auto [entry, is_new] = before.try_emplace(parts_[p].global_pid, static_cast<int>(p));
      if (!is_new && !IsGraph(p)) {
        std::map<int, int> last;  // by stream
        for (const int operation : parts_[static_cast<size_t>(entry->second)].operations)
          last[Task(operation).queue] = operation;
        for (const auto& [stream, operation] : last) {
          more_[static_cast<size_t>(parts_[p].calls.front())].push_back(
              {Why::kSync, operation, graph_.launch.back_ns});
        }
      }
      entry->second = static_cast<int>(p);
    }
  }

  ReplayGraph& graph_;
  std::vector<Captured> parts_;
  std::vector<int> part_of_;                   // by task, calls and operations; -1: none
  std::vector<std::vector<ReplayHold>> more_;  // by task
  std::set<std::pair<int, int>> threads_;      // queue and step
  std::set<int> kept_;                         // calls that take their time
};

}  // namespace

bool LaunchesGraph(const ReplayGraph& graph, const ReplayTask& task) {
  return task.kind == Kind::kCall && task.name >= 0 &&
         IsGraphLaunch(graph.names[static_cast<size_t>(task.name)]);
}

int64_t CaptureSteps(ReplayGraph* graph) { return Capturer(graph).Capture(); }

int64_t LaunchNodes(ReplayGraph* changed) {
  ReplayGraph& graph = *changed;
  std::map<int, std::vector<int>> nodes;  // by call
  for (size_t i = 0; i < graph.tasks.size(); ++i) {
    const int call = graph.tasks[i].call;
    if (call >= 0 && LaunchesGraph(graph, graph.tasks[static_cast<size_t>(call)]))
      nodes[call].push_back(static_cast<int>(i));
  }
  if (nodes.empty()) return 0;
  const auto name = static_cast<int>(graph.names.size());
  graph.names.push_back("launch of a node");
  std::vector<std::vector<ReplayHold>> more(graph.tasks.size());
  std::map<int, int> last_of;  // by call: the last one that took its place
  for (const auto& [call, launched] : nodes) {
    int last = call;
    graph.tasks[static_cast<size_t>(call)].ns = graph.launch.call_ns;
    for (const int node : launched) {
      if (node != launched.front()) {
        ReplayTask own = graph.tasks[static_cast<size_t>(call)];
        own.name = name;
        graph.tasks.push_back(own);
        more.push_back({{Why::kThread, last, 0}});
        last = static_cast<int>(graph.tasks.size()) - 1;
      }
      graph.tasks[static_cast<size_t>(node)].call = last;
      for (int h = graph.holds.first[static_cast<size_t>(node)];
           h < graph.holds.first[static_cast<size_t>(node) + 1]; ++h) {
        ReplayHold& hold = graph.holds.items[static_cast<size_t>(h)];
        if (hold.why == Why::kLaunch) hold.from = -1;
        if (hold.why == Why::kStream && hold.lag_ns >= 0) hold.lag_ns = graph.launch.gap_ns;
      }
      more[static_cast<size_t>(node)].push_back({Why::kLaunch, last, graph.launch.latency_ns});
    }
    last_of[call] = last;
  }
  for (ReplayHold& hold : graph.holds.items) {
    const auto found = hold.from < 0 ? last_of.end() : last_of.find(hold.from);
    if (found != last_of.end()) hold.from = found->second;
  }
  AddHolds(more, changed);
  OrderTasks(changed);
  return std::ssize(nodes);
}

}  // namespace lanescope::traces
