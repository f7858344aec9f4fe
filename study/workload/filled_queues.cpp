// SPDX-License-Identifier: Apache-2.0
#include "study/workload/filled_queues.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "study/workload/queue_nodes.h"

namespace lanescope::study {
namespace {

// A queue is what its container calls so, whichever node makes it.
using QueueKey = std::pair<std::string, std::string>;

QueueKey KeyOf(const Node& queue) { return {queue.StringAttr("container", ""), QueueName(queue)}; }

bool IsReader(const Node& node) { return node.op.starts_with("ReaderRead"); }

// Whether this use of a queue's handle leaves nothing in the queue. Readers take the names of files.
bool IsHarmless(const Node& node, size_t input) {
  if (IsReader(node)) return true;
  return input == 0 && (TakesOne(node) || TakesMany(node) || LooksOnly(node));
}

// The queue that the node waits for; none where it takes from none that is known.
NodeId TakenFrom(const Graph& graph, const Node& node) {
  const size_t handle = IsReader(node) ? 1 : 0;
  const bool takes = TakesOne(node) || TakesMany(node) || IsReader(node);
  return takes && node.inputs.size() > handle ? QueueOfHandle(graph, node.inputs[handle]) : NodeId();
}

// Its own users are looked at.
bool PassesOn(const Node& node) {
  return node.op == "Identity" || node.op == "RefIdentity" || node.op == "Enter";
}

// Whether one of its inputs is enough.
bool IsMerge(const Node& node) { return node.op == "Merge" || node.op == "RefMerge"; }

class QueueUses {
 public:
  // `fed`: whether the feeds of its steps stand in for nodes.
  QueueUses(const Workload& workload, bool fed) : graph_(workload.graph()) {
    if (!fed) return;
    for (const auto& [endpoint, info] : workload.request().feeds)
      fed_.emplace(endpoint.node, endpoint.output);
  }

  // The node and all that it needs runs. `of_step`: where feeds stand in for nodes.
  void Reach(Endpoint from, bool of_step, std::set<NodeId>* reached) const {
    std::vector<Endpoint> next = {from};
    while (!next.empty()) {
      const Endpoint endpoint = next.back();
      next.pop_back();
      if ((of_step && IsFed(endpoint)) || !reached->insert(endpoint.node).second) continue;
      const Node& node = graph_.node(endpoint.node);
      next.insert(next.end(), node.inputs.begin(), node.inputs.end());
      for (const NodeId control : node.control_inputs) next.push_back({control, -1});
    }
  }

  // The node ends, which fills these.
  std::vector<QueueKey> AddFilled(NodeId id) {
    std::vector<QueueKey> filled;
    for (const QueueKey& queue : FilledBy(id)) {
      if (filled_.insert(queue).second) filled.push_back(queue);
    }
    return filled;
  }

  // All of these may begin. A node ends once all that it needs has ended, and one that takes once its queue
  // is filled, too.
  void AddRunning(const std::set<NodeId>& running) {
    std::map<NodeId, int> waits;
    std::map<NodeId, std::vector<NodeId>> waiting;
    std::map<QueueKey, std::vector<NodeId>> takers;
    std::vector<NodeId> ended;
    for (const NodeId id : running) {
      const Node& node = graph_.node(id);
      int needs = 0;
      const auto need = [&](Endpoint from) {
        if (IsFed(from) || !running.contains(from.node)) return;
        waiting[from.node].push_back(id);
        ++needs;
      };
      for (const Endpoint input : node.inputs) need(input);
      if (IsMerge(node) && needs > 0) needs = 1;
      for (const NodeId control : node.control_inputs) need({control, -1});
      if (const NodeId queue = TakenFrom(graph_, node); queue.exists()) {
        takers[KeyOf(graph_.node(queue))].push_back(id);
        ++needs;
      }
      waits[id] = needs;
      if (needs == 0) ended.push_back(id);
    }
    const auto release = [&](const std::vector<NodeId>& nodes) {
      for (const NodeId id : nodes) {
        if (--waits[id] == 0) ended.push_back(id);
      }
    };
    while (!ended.empty()) {
      const NodeId id = ended.back();
      ended.pop_back();
      for (const QueueKey& queue : AddFilled(id)) release(takers[queue]);
      release(waiting[id]);
    }
  }

  // `running`: what would fill the queues. `where`: the run configuration's keys that say what does.
  void RequireFilled(NodeId id, const std::set<NodeId>& running, std::string_view where) const {
    const NodeId queue = EmptyTakenFrom(id);
    if (!queue.exists()) return;
    const std::string name = QueueName(graph_.node(queue));
    std::string why;
    for (const NodeId filler : running) {
      if (!why.empty() || !std::ranges::count(FilledBy(filler), KeyOf(graph_.node(queue)))) continue;
      const NodeId awaited = WaitsFor(filler);
      if (!awaited.exists()) continue;
      why = fmt::format(": '{}', which fills it, itself waits for '{}'", graph_.node(filler).name,
                        graph_.node(awaited).name);
      where = "init";
    }
    Throw(
        Code::kFailedPrecondition,
        "the queue '{}' stays empty, and '{}', which takes from it, would wait for ever{}; say what fills it "
        "{}in the {} of the run configuration",
        name, graph_.node(id).name, why, why.empty() ? "" : "before ", where);
  }

 private:
  bool IsFed(Endpoint endpoint) const { return fed_.contains({endpoint.node, endpoint.output}); }

  std::vector<QueueKey> FilledBy(NodeId id) const {
    const Node& node = graph_.node(id);
    std::vector<QueueKey> queues;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeId queue = QueueOfHandle(graph_, node.inputs[i]);
      if (queue.exists() && !PassesOn(node) && !IsHarmless(node, i))
        queues.push_back(KeyOf(graph_.node(queue)));
    }
    return queues;
  }

  // None where the node takes from no queue, or from one that is filled.
  NodeId EmptyTakenFrom(NodeId id) const {
    const NodeId queue = TakenFrom(graph_, graph_.node(id));
    return queue.exists() && !filled_.contains(KeyOf(graph_.node(queue))) ? queue : NodeId();
  }

  // Nodes among those that the node needs which take from an empty queue.
  NodeId WaitsFor(NodeId id) const {
    std::set<NodeId> needed;
    Reach({id, -1}, true, &needed);
    const auto found =
        std::ranges::find_if(needed, [&](NodeId each) { return EmptyTakenFrom(each).exists(); });
    return found != needed.end() ? *found : NodeId();
  }

  const Graph& graph_;
  std::set<std::pair<NodeId, int>> fed_;
  std::set<QueueKey> filled_;
};

}  // namespace

void RequireFilledQueues(const Workload& workload, const Schedule& step, QueueFillers fillers) {
  const Graph& graph = workload.graph();
  const bool is_init = fillers == QueueFillers::kInit;
  QueueUses uses(workload, !is_init);
  std::set<NodeId> of_runners, running;
  for (const std::string& target : workload.spec().init)
    uses.Reach(graph.FindEndpoint(target), false, &running);
  if (!is_init) {
    for (const QueueRunnerSpec& runner : workload.spec().queue_runners) {
      for (const std::string& op : runner.enqueue_ops)
        uses.Reach({graph.FindNode(op), -1}, false, &of_runners);
    }
    running.insert(of_runners.begin(), of_runners.end());
    for (const Endpoint& fetch : workload.request().fetches) uses.Reach(fetch, true, &running);
  }
  if (fillers == QueueFillers::kGraph) {
    for (const NodeId id : graph.node_ids()) uses.AddFilled(id);
  } else {
    uses.AddRunning(running);
  }
  const std::string_view where = is_init ? "init" : "queue_runners or targets";
  for (const NodeId id : of_runners) uses.RequireFilled(id, running, where);
  for (const Command& command : step.commands) {
    if (command.kind == CommandKind::kLaunch) uses.RequireFilled(command.node, running, where);
  }
}

}  // namespace lanescope::study
