#include "study/input_pipeline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "study/queue_nodes.h"

namespace lanescope::study {
namespace {

constexpr double kLeastCores = 0.05;  // of a step whose work other hardware does

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

// Cores that the step's launches keep busy, on average.
double CoresOf(const Machine& machine, const Schedule& schedule, const sims::Prediction& prediction) {
  int64_t busy = 0;
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    if (command.kind != CommandKind::kLaunch) continue;
    if (machine.device(schedule.queues[command.queue].device).is_hardware()) continue;
    busy += prediction.simulation.times[c].end_ns - prediction.simulation.times[c].start_ns;
  }
  return std::max(kLeastCores,
                  static_cast<double>(busy) / static_cast<double>(std::max<int64_t>(prediction.step_ns, 1)));
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
      (takes ? stage->takes : stage->puts).push_back({QueueIndex(queue), ElementsOf(workload_, node)});
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
    stage.exclusive_ns = cost->exclusive_ns;
    stage.work_ns = cost->ns - cost->exclusive_ns;
    AddAccesses(nodes, &stage);
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
    if (command.kind == CommandKind::kLaunch) nodes.insert(command.node);
  }
  const auto alone = [&](int64_t ns) { return std::llround(static_cast<double>(ns) * costs.step_factor); };
  sims::PipelineStage step;
  step.name = "step";
  step.before_ns = alone(first.start_ns);
  step.work_ns = std::max<int64_t>(1, alone(prediction.step_ns) - step.before_ns);
  step.cores = CoresOf(machine, schedule, prediction);
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
  input.waits_from_ns = first.start_ns;
  const int64_t step_ns = std::max<int64_t>(1, std::llround(input.result.step_ns));
  // Where the threads slow the step down it does not only wait: all of it takes longer, what is taken here.
  const int64_t later = step_ns - prediction->step_ns;
  input.wait_ns =
      std::max<int64_t>(0, std::min(later, static_cast<int64_t>(std::llround(input.result.wait_ns))));
  const double shorter =
      later < 0 ? static_cast<double>(step_ns) / static_cast<double>(prediction->step_ns) : 1;
  for (const CommandId c : schedule.commands.ids()) {
    sims::CommandTime& time = prediction->simulation.times[c];
    const bool after = later > 0 && time.start_ns >= first.start_ns;
    for (int64_t* ns : {&time.start_ns, &time.end_ns})
      *ns = std::llround(static_cast<double>(*ns) * shorter) + (after ? later : 0);
  }
  for (double& busy : prediction->busy)
    busy *= static_cast<double>(prediction->step_ns) / static_cast<double>(step_ns);
  for (int64_t* ns :
       {&prediction->step_ns, &prediction->low_ns, &prediction->high_ns, &prediction->simulation.step_ns})
    *ns = std::max<int64_t>(1, *ns + later);
  prediction->input = std::move(input);
}

}  // namespace lanescope::study
