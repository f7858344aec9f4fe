#include "study/workload/filled_queues.h"

#include <set>
#include <string>
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

class QueueUses {
 public:
  explicit QueueUses(const Workload& workload) : graph_(workload.graph()) {
    for (const auto& [endpoint, info] : workload.request().feeds)
      fed_.emplace(endpoint.node, endpoint.output);
  }

  // The node and all that it needs runs. `of_step`: where feeds stand in for nodes.
  void Reach(Endpoint from, bool of_step, std::set<NodeId>* reached) const {
    std::vector<Endpoint> next = {from};
    while (!next.empty()) {
      const Endpoint endpoint = next.back();
      next.pop_back();
      if ((of_step && fed_.contains({endpoint.node, endpoint.output})) ||
          !reached->insert(endpoint.node).second)
        continue;
      const Node& node = graph_.node(endpoint.node);
      next.insert(next.end(), node.inputs.begin(), node.inputs.end());
      for (const NodeId control : node.control_inputs) next.push_back({control, -1});
    }
  }

  void AddFilled(NodeId id) {
    const Node& node = graph_.node(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeId queue = QueueOfHandle(graph_, node.inputs[i]);
      if (queue.exists() && !PassesOn(node) && !IsHarmless(node, i))
        filled_.insert(KeyOf(graph_.node(queue)));
    }
  }

  void RequireFilled(NodeId id) const {
    const Node& node = graph_.node(id);
    const size_t handle = IsReader(node) ? 1 : 0;
    if ((!TakesOne(node) && !TakesMany(node) && !IsReader(node)) || node.inputs.size() <= handle) return;
    const NodeId queue = QueueOfHandle(graph_, node.inputs[handle]);
    if (!queue.exists() || filled_.contains(KeyOf(graph_.node(queue)))) return;
    Throw(Code::kFailedPrecondition,
          "the queue '{}' stays empty, and '{}', which takes from it, would wait for ever; say what fills it "
          "in the "
          "queue_runners or targets of the run configuration",
          QueueName(graph_.node(queue)), node.name);
  }

 private:
  // Its own users are looked at.
  static bool PassesOn(const Node& node) {
    return node.op == "Identity" || node.op == "RefIdentity" || node.op == "Enter";
  }

  const Graph& graph_;
  std::set<std::pair<NodeId, int>> fed_;
  std::set<QueueKey> filled_;
};

}  // namespace

void RequireFilledQueues(const Workload& workload, const Schedule& step, QueueFillers fillers) {
  const Graph& graph = workload.graph();
  QueueUses uses(workload);
  std::set<NodeId> of_runners, runs;
  for (const QueueRunnerSpec& runner : workload.spec().queue_runners) {
    for (const std::string& op : runner.enqueue_ops) uses.Reach({graph.FindNode(op), -1}, false, &of_runners);
  }
  runs = of_runners;
  for (const std::string& target : workload.spec().init) uses.Reach(graph.FindEndpoint(target), false, &runs);
  for (const Endpoint& fetch : workload.request().fetches) uses.Reach(fetch, true, &runs);
  for (const NodeId id : graph.node_ids()) {
    if (fillers == QueueFillers::kGraph || runs.contains(id)) uses.AddFilled(id);
  }
  for (const NodeId id : of_runners) uses.RequireFilled(id);
  for (const Command& command : step.commands) {
    if (command.kind == CommandKind::kLaunch) uses.RequireFilled(command.node);
  }
}

}  // namespace lanescope::study
