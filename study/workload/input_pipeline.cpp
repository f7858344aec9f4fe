// SPDX-License-Identifier: Apache-2.0
#include "study/workload/input_pipeline.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "study/workload/queue_nodes.h"

namespace lanescope::study {
namespace {

// The first of the step's commands that takes from a queue, and when it begins.
struct FirstTake {
  CommandId command;
  int64_t start_ns = 0;
};

FirstTake FindFirstTake(const Graph& graph, const Schedule& schedule, const sims::SimulationResult& result) {
  FirstTake first;
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    if (command.kind != CommandKind::kLaunch) continue;
    const Node& node = graph.node(command.node);
    if (!TakesOne(node) && !TakesMany(node)) continue;
    const int64_t start = result.times[c].start_ns;
    if (!first.command.exists() || start < first.start_ns) first = {c, start};
  }
  return first;
}

// How many of the step's launches on threads of the host run side by side, from its begin to its end.
std::vector<sims::StageLoad> LoadsOf(const Machine& machine, const Schedule& schedule,
                                     const sims::Prediction& prediction) {
  std::map<int64_t, int> changes = {{0, 0}, {prediction.step_ns, 0}};
  for (const CommandId c : schedule.commands.ids()) {
    if (!sims::TakesCore(schedule, machine, c)) continue;
    ++changes[prediction.simulation.times[c].start_ns];
    --changes[prediction.simulation.times[c].end_ns];
  }
  std::vector<sims::StageLoad> loads;
  int running = 0;
  for (auto change = changes.begin(); std::next(change) != changes.end(); ++change) {
    running += change->second;
    loads.push_back({std::next(change)->first - change->first, static_cast<double>(running)});
  }
  return loads;
}

// How many elements a node takes or puts; 1 where the graph does not say.
int64_t ElementsOf(const Workload& workload, const Node& node) {
  if (TakesMany(node)) {
    const auto& value = workload.info().of(node.inputs.at(1)).value;
    return value != nullptr && value->NumElements() == 1 ? std::max<int64_t>(1, value->IntAt(0)) : 1;
  }
  if (PutsMany(node) && node.inputs.size() > 1) {
    const Shape& shape = workload.info().of(node.inputs[1]).shape;
    if (shape.IsExact() && shape.rank() > 0) return std::max<int64_t>(1, shape.dim(0));
  }
  return 1;
}

// The recorded times, so that their mean is the op's cost.
std::vector<int64_t> TimesAround(const sims::InputCost& cost) {
  double sum = 0;
  for (const int64_t time : cost.times) sum += static_cast<double>(time);
  std::vector<int64_t> times;
  if (sum <= 0) return times;
  const double scale = static_cast<double>(cost.ns) * static_cast<double>(cost.times.size()) / sum;
  for (const int64_t time : cost.times) times.push_back(std::llround(static_cast<double>(time) * scale));
  return times;
}

class PipelineMaker {
 public:
  PipelineMaker(const Workload& workload, const sims::InputCosts& costs)
      : workload_(workload), graph_(workload.graph()), costs_(costs) {}

  // False: something is not known, or nothing is filled.
  bool Make(sims::PipelineStage step, const std::set<NodeId>& nodes_of_step) {
    AddAccesses(nodes_of_step, &step);
    pipeline_.stages.push_back(std::move(step));
    if (pipeline_.stages[0].takes.empty()) return false;
    std::map<std::string, int> threads;
    for (const QueueRunnerSpec& runner : workload_.spec().queue_runners) {
      for (const std::string& op : runner.enqueue_ops) ++threads[op];
    }
    // A queue that is reached brings in those who fill it, and these what they take from.
    std::set<std::string> added;
    for (size_t queue = 0; queue < queues_.size(); ++queue) {
      bool filled = false;
      for (const auto& [op, count] : threads) {
        const NodeId node = graph_.FindNode(op);
        if (!node.exists() || QueueUsedBy(graph_, graph_.node(node)) != queues_[queue]) continue;
        filled = true;
        if (added.insert(op).second && !AddStage(node, count)) return false;
      }
      if (!filled) return false;
    }
    return true;
  }
  sims::Pipeline Take() { return std::move(pipeline_); }

 private:
  int QueueIndex(NodeId queue) {
    const auto found = std::ranges::find(queues_, queue);
    if (found != queues_.end()) return static_cast<int>(found - queues_.begin());
    const Node& node = graph_.node(queue);
    pipeline_.queues.push_back({fmt::format("queue '{}'", QueueName(node)), node.IntAttr("capacity", -1),
                                node.IntAttr("min_after_dequeue", 0)});
    queues_.push_back(queue);
    return static_cast<int>(queues_.size()) - 1;
  }

  // In the order of the nodes: that of several takes of a step is nobody's.
  void AddAccesses(const std::set<NodeId>& nodes, sims::PipelineStage* stage) {
    for (const NodeId n : nodes) {
      const Node& node = graph_.node(n);
      const bool takes = TakesOne(node) || TakesMany(node);
      if (!takes && !PutsOne(node) && !PutsMany(node)) continue;
      const NodeId queue = QueueUsedBy(graph_, node);
      if (!queue.exists()) continue;
      (takes ? stage->takes : stage->puts)
          .push_back({QueueIndex(queue), ElementsOf(workload_, node), n.number()});
    }
  }

  // A thread that reads has the turn at a reader.
  void AddTurn(const std::set<NodeId>& nodes, sims::PipelineStage* stage) {
    for (const NodeId n : nodes) {
      const Node& node = graph_.node(n);
      if (!node.op.starts_with("ReaderRead") || node.inputs.empty()) continue;
      stage->turn_node = n.number();
      stage->turn_of = fmt::format("reader '{}'", QueueName(graph_.node(node.inputs[0].node)));
      return;
    }
  }

  bool AddStage(NodeId enqueue, int threads) {
    const sims::InputCost* cost = costs_.Find(graph_.node(enqueue).name);
    if (cost == nullptr || cost->ns <= 0) return false;
    std::set<NodeId> nodes;
    std::vector<NodeId> next = {enqueue};
    while (!next.empty()) {
      const NodeId n = next.back();
      next.pop_back();
      if (!nodes.insert(n).second) continue;
      for (const Endpoint& input : graph_.node(n).inputs) next.push_back(input.node);
      for (const NodeId control : graph_.node(n).control_inputs) next.push_back(control);
    }
    sims::PipelineStage stage;
    stage.name = graph_.node(enqueue).name;
    stage.threads = threads;
    stage.exclusive_ns = cost->SerialNs();
    stage.work_ns = cost->ns - stage.exclusive_ns;
    stage.times = TimesAround(*cost);
    stage.yields = static_cast<double>(cost->ns) < sims::kSliceNs;
    AddAccesses(nodes, &stage);
    AddTurn(nodes, &stage);
    pipeline_.stages.push_back(std::move(stage));
    return true;
  }

  const Workload& workload_;
  const Graph& graph_;
  const sims::InputCosts& costs_;
  sims::Pipeline pipeline_;
  std::vector<NodeId> queues_;  // by index in the pipeline
};

}  // namespace

int StoredSteps(const Workload& workload) {
  constexpr int64_t kMostSteps = 1000;
  if (workload.spec().queue_runners.empty()) return 0;
  int64_t steps = 0;
  for (const Node& node : workload.graph().nodes()) {
    if (!TakesMany(node)) continue;  // steps take batches, who fills queues takes one by one
    const NodeId queue = QueueUsedBy(workload.graph(), node);
    if (!queue.exists()) continue;
    const int64_t held = workload.graph().node(queue).IntAttr("capacity", -1);
    const int64_t taken = ElementsOf(workload, node);
    if (held > 0) steps = std::max(steps, (held + taken - 1) / taken);
  }
  return static_cast<int>(std::min(steps, kMostSteps));
}

std::optional<sims::Pipeline> PipelineOf(const Workload& workload, const Machine& machine,
                                         const Schedule& schedule, const sims::Prediction& prediction,
                                         const sims::InputCosts& costs) {
  if (costs.empty() || workload.spec().queue_runners.empty()) return std::nullopt;
  const FirstTake first = FindFirstTake(workload.graph(), schedule, prediction.simulation);
  if (!first.command.exists()) return std::nullopt;
  std::set<NodeId> nodes;
  for (const Command& command : schedule.commands) {
    if (command.kind == CommandKind::kLaunch)
      schedule.ForNodes(command, [&](NodeId node) { nodes.insert(node); });
  }
  sims::PipelineStage step;
  step.name = "step";
  step.before_ns = first.start_ns;
  step.work_ns = std::max<int64_t>(1, prediction.step_ns - step.before_ns);
  step.loads = LoadsOf(machine, schedule, prediction);
  PipelineMaker maker(workload, costs);
  if (!maker.Make(std::move(step), nodes)) return std::nullopt;
  sims::Pipeline pipeline = maker.Take();
  pipeline.cores = costs.cores;
  return pipeline;
}

void AddInput(const Workload& workload, const Machine& machine, const Schedule& schedule,
              const sims::InputCosts& costs, sims::Prediction* prediction) {
  std::optional<sims::Pipeline> pipeline = PipelineOf(workload, machine, schedule, *prediction, costs);
  if (!pipeline) return;
  sims::PipelinePrediction input;
  input.result = sims::SimulatePipeline(*pipeline);
  input.pipeline = std::move(*pipeline);
  input.alone_ns = prediction->step_ns;
  const FirstTake first = FindFirstTake(workload.graph(), schedule, prediction->simulation);
  input.take = first.command;
  // The launches after the first take come later.
  const int64_t step_ns =
      std::max(prediction->step_ns, static_cast<int64_t>(std::llround(input.result.step_ns)));
  const int64_t later = step_ns - prediction->step_ns;
  input.take_from_ns = first.start_ns;
  input.take_until_ns = first.start_ns + later;
  for (const CommandId c : schedule.commands.ids()) {
    sims::CommandTime& time = prediction->simulation.times[c];
    if (time.start_ns < first.start_ns) continue;
    time.start_ns += later;
    time.end_ns += later;
  }
  for (double& busy : prediction->busy)
    busy *= static_cast<double>(prediction->step_ns) / static_cast<double>(step_ns);
  for (int64_t* ns :
       {&prediction->step_ns, &prediction->low_ns, &prediction->high_ns, &prediction->simulation.step_ns})
    *ns = std::max<int64_t>(1, *ns + later);
  prediction->input = std::move(input);
}

}  // namespace lanescope::study
