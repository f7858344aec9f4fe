// SPDX-License-Identifier: Apache-2.0
// The graph is cut into stages, one for each GPU, and the batch into micro-batches that pass through them:
// GPipe (Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism", 2019)
// and one forward, one backward (Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN
// Training", 2019, in the synchronous form of "Memory-Efficient Pipeline-Parallel DNN Training", 2021), with
// several parts of the model a stage (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
// Clusters Using Megatron-LM", 2021) or gradients of weights apart (Qi et al., "Zero Bubble Pipeline
// Parallelism", 2023). Variables are where they are read first; gradients add up over the micro-batches, and
// one update ends the step, so that it computes what the graph computes.

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "core/inputs/step_request.h"
#include "core/strategies/forward_order.h"
#include "core/strategies/pipeline_error.h"
#include "core/strategies/pipeline_passes.h"
#include "core/strategies/replicator.h"
#include "core/strategies/stage_cut.h"
#include "core/strategies/weight_gradients.h"

namespace lanescope {
namespace {

constexpr int kLongestPass = 2;  // of PassStarts
constexpr int kPerStage = 4;     // micro-batches, as GPipe's authors find enough

// The most micro-batches that divide a batch, up to four a stage, in each of so many pipelines; 0: none do.
int MicroBatchesIn(int64_t batch, PipelineOrder order, int pipelines) {
  for (int& count = order.micro_batches = kPerStage * order.stages; count > 1; --count) {
    if (batch % (int64_t{count} * pipelines) == 0 && MakesRounds(order)) return count;
  }
  return 0;
}

// For all fed batches together.
int MicroBatchesOf(const RunSpec& spec, const PipelineOrder& order, int pipelines) {
  int64_t common = 0;
  for (const auto& [name, axis] : spec.batch_axis)
    common = std::gcd(common, spec.feeds.at(name).shape.dim(axis));
  if (const int count = MicroBatchesIn(common, order, pipelines); count > 0) return count;
  int64_t away = 1;
  while (MicroBatchesIn(common + away, order, pipelines) == 0 &&
         (away >= common || MicroBatchesIn(common - away, order, pipelines) == 0))
    ++away;
  const bool is_more = MicroBatchesIn(common + away, order, pipelines) > 0;
  RefusePipeline("a batch of {} cannot be cut into up to {} micro-batches{}; the nearest that can is {}",
                 common, kPerStage * order.stages,
                 pipelines == 1 ? std::string() : fmt::format(" for each of {} pipelines", pipelines),
                 is_more ? common + away : common - away);
}

// The nodes of a part of the model by pass, as they were before there were micro-batches.
struct PartNodes {
  std::vector<NodeId> forward, inputs, weights;

  std::vector<NodeId> Of(PassKind kind) const {
    if (kind == PassKind::kForward) return forward;
    if (kind == PassKind::kWeights) return weights;
    std::vector<NodeId> nodes = inputs;
    if (kind == PassKind::kBackward) nodes.insert(nodes.end(), weights.begin(), weights.end());
    return nodes;
  }
};

std::string NameOf(const PipelinePass& pass, const PipelineOrder& order) {
  constexpr const char* kNames[] = {"forward", "backward", "inputs", "weights"};
  return fmt::format("{}{}_{}", order.parts > 1 ? fmt::format("part_{}/", pass.part) : std::string(),
                     kNames[static_cast<size_t>(pass.kind)], pass.micro_batch);
}

// The passes of a GPU.
class GpuPasses {
 public:
  // `scope`: of its barriers.
  // `times`: of the graph's nodes that are in passes, -1 for others.
  GpuPasses(const ReplicatedGraph& replicated, std::string scope, Graph* graph, IdVector<NodeId, int>* times)
      : first_(replicated.first), scope_(std::move(scope)), graph_(*graph), times_(*times) {}

  // `nodes` of a micro-batch begin at that time, when all of the last pass has ended.
  void Add(const std::vector<NodeId>& nodes, int replica, const std::string& name, int time) {
    if (nodes.empty()) return;
    IdVector<NodeId, bool> mine(graph_.num_nodes(), false), read = mine;
    std::vector<NodeId> ids;
    for (const NodeId id : nodes) {
      ids.push_back(ReplicaAt(first_[id], replica));
      mine[ids.back()] = true;
      times_[ids.back()] = time;
    }
    for (const NodeId id : ids) {
      bool inside = false;
      const auto visit = [&](NodeId before) {
        if (!mine[before]) return;
        read[before] = true;
        inside = true;
      };
      for (const Endpoint& endpoint : graph_.node(id).inputs) visit(endpoint.node);
      for (const NodeId control : graph_.node(id).control_inputs) visit(control);
      if (!inside && barrier_.exists()) graph_.node(id).control_inputs.push_back(barrier_);
    }
    Node next;
    next.name = scope_ + name;
    next.op = "NoOp";
    next.device = graph_.node(ids.front()).device;
    for (const NodeId id : ids) {
      if (!read[id]) next.control_inputs.push_back(id);
    }
    barrier_ = graph_.AddNode(std::move(next));
    times_.Add(time);
  }

 private:
  const IdVector<NodeId, NodeId>& first_;
  const std::string scope_;
  Graph& graph_;
  IdVector<NodeId, int>& times_;
  NodeId barrier_;  // the end of the last pass
};

// The graph with its nodes in the order of their times; those without one follow what they wait for. Devices
// whose queues are in order take work in the order of its nodes: a copy then stands behind none that comes
// later.
Graph InOrderOfTimes(const Graph& graph, IdVector<NodeId, int> times) {
  for (const NodeId id : graph.TopologicalOrder()) {
    const Node& node = graph.node(id);
    if (times[id] >= 0) continue;
    for (const Endpoint& input : node.inputs) {
      // A sum of several stages' tensors comes when the last one is through.
      const bool is_copied = times[input.node] >= 0 && graph.node(input.node).device != node.device;
      times[id] = std::max(times[id], times[input.node] + (is_copied ? kLongestPass : 0));
    }
    for (const NodeId control : node.control_inputs) times[id] = std::max(times[id], times[control]);
  }
  std::vector<NodeId> order(graph.node_ids().begin(), graph.node_ids().end());
  std::ranges::stable_sort(order, {}, [&](NodeId id) { return times[id]; });
  IdVector<NodeId, NodeId> now(graph.num_nodes());
  for (size_t i = 0; i < order.size(); ++i) now[order[i]] = NodeId(i);
  Graph sorted;
  for (const NodeId id : order) {
    Node node = graph.node(id);
    for (Endpoint& input : node.inputs) input.node = now[input.node];
    for (NodeId& control : node.control_inputs) control = now[control];
    sorted.AddNode(std::move(node));
  }
  sorted.extra = graph.extra;
  return sorted;
}

class PipelineWriter {
 public:
  PipelineWriter(const RewriteInput& input, PipelineSchedule schedule)
      : input_(input),
        roles_(FindReplicaRoles(input.graph, input.spec)),
        places_(input, roles_),
        order_{.schedule = schedule,
               .stages = static_cast<int>(input.gpus.size()) / input.groups,
               .parts = schedule == PipelineSchedule::kInterleaved ? input.stage_parts : 1} {
    order_.micro_batches = MicroBatchesOf(input.spec, order_, input.groups);
    const std::vector<DeviceId> first(input.gpus.begin(), input.gpus.begin() + order_.stages);
    ends_ = CutIntoParts(input.machine, first, LoadsOf(input, roles_, places_, first[0]), order_);
  }

  StepGraph Run() {
    // Replicas of a micro-batch follow each other, one for each pipeline: sums grow as they come.
    const ReplicaPlan plan{.strategy = "pipeline",
                           .scope = "micro_",
                           .replicas = order_.micro_batches * input_.groups,
                           .device = [&](NodeId id, int replica) { return DeviceOf(id, replica); },
                           .accumulate = true};
    ReplicatedGraph replicated = Replicate(input_, plan, roles_);
    const std::vector<PartNodes> parts = NodesOfParts(replicated);
    IdVector<NodeId, int> times(replicated.step.graph.num_nodes(), -1);
    for (int pipeline = 0; pipeline < input_.groups; ++pipeline)
      OrderPasses(parts, pipeline, &replicated, &times);
    return {InOrderOfTimes(replicated.step.graph, std::move(times)), std::move(replicated.step.spec)};
  }

 private:
  // A part of the model; -1: the node belongs to none.
  int PartOf(NodeId id) const {
    const int place = places_.place(id);
    return place < 0 ? -1 : static_cast<int>(std::ranges::lower_bound(ends_, place) - ends_.begin());
  }

  std::string DeviceOf(NodeId id, int replica) const {
    const int part = PartOf(id);
    if (part < 0) return {};
    const int pipeline = std::max(replica, 0) % input_.groups;
    const int gpu = pipeline * order_.stages + part % order_.stages;
    return input_.machine.device(input_.gpus[static_cast<size_t>(gpu)]).name;
  }

  std::vector<PartNodes> NodesOfParts(const ReplicatedGraph& replicated) const {
    const IdVector<NodeId, GradientOf> split =
        order_.schedule == PipelineSchedule::kZeroBubble ? Split(replicated) : IdVector<NodeId, GradientOf>();
    std::vector<PartNodes> parts(static_cast<size_t>(order_.stages * order_.parts));
    for (const NodeId id : input_.graph.node_ids()) {
      if (roles_[id] != ReplicaRole::kReplicated) continue;
      PartNodes& part = parts[static_cast<size_t>(PartOf(id))];
      if (places_.is_forward(id)) {
        part.forward.push_back(id);
      } else if (split.empty() || split[id] == GradientOf::kInputs) {
        part.inputs.push_back(id);
      } else if (split[id] == GradientOf::kWeights) {
        part.weights.push_back(id);
      }
    }
    return parts;
  }

  // A tensor that grows with the batch has fewer elements in a micro-batch.
  IdVector<NodeId, GradientOf> Split(const ReplicatedGraph& replicated) const {
    const StepGraph& step = replicated.step;
    const GraphInfo micro = InferGraph(step.graph, StepRequestOf(step.graph, step.spec).feeds);
    const auto has_batch = [&](NodeId id) {
      const auto whole = input_.info.outputs(id), share = micro.outputs(replicated.first[id]);
      for (size_t k = 0; k < whole.size(); ++k) {
        if (!whole[k].shape.IsExact() || whole[k].shape != share[k].shape) return true;
      }
      return false;
    };
    return SplitGradients(input_.graph, roles_, places_, has_batch, [&](NodeId id) { return PartOf(id); });
  }

  void OrderPasses(const std::vector<PartNodes>& parts, int pipeline, ReplicatedGraph* replicated,
                   IdVector<NodeId, int>* times) const {
    const std::string of = input_.groups == 1 ? "" : fmt::format("pipeline_{}/", pipeline);
    const std::vector<std::vector<int>> starts = PassStarts(order_);
    for (int stage = 0; stage < order_.stages; ++stage) {
      GpuPasses passes(*replicated, fmt::format("pipeline/{}stage_{}/", of, stage), &replicated->step.graph,
                       times);
      const std::vector<int>& begins = starts[static_cast<size_t>(stage)];
      const std::vector<PipelinePass> order = PassesOf(order_, stage);
      for (size_t i = 0; i < order.size(); ++i) {
        const PartNodes& part = parts[static_cast<size_t>(order[i].part * order_.stages + stage)];
        passes.Add(part.Of(order[i].kind), order[i].micro_batch * input_.groups + pipeline,
                   NameOf(order[i], order_), begins[i]);
      }
    }
  }

  const RewriteInput& input_;
  const IdVector<NodeId, ReplicaRole> roles_;
  const ForwardOrder places_;
  PipelineOrder order_;
  std::vector<int> ends_;  // the last place of every part of the model
};

StepGraph WritePipeline(const RewriteInput& input, PipelineSchedule schedule) {
  if (input.gpus.size() < 2) RefusePipeline("the machine has fewer than two GPUs");
  if (input.spec.batch_axis.empty()) RefusePipeline("{}", kNoBatchAxis);
  return PipelineWriter(input, schedule).Run();
}

}  // namespace

StepGraph WritePipeline1F1B(const RewriteInput& input) {
  return WritePipeline(input, PipelineSchedule::k1F1B);
}
StepGraph WritePipelineGPipe(const RewriteInput& input) {
  return WritePipeline(input, PipelineSchedule::kGPipe);
}
StepGraph WritePipelineInterleaved(const RewriteInput& input) {
  return WritePipeline(input, PipelineSchedule::kInterleaved);
}
StepGraph WritePipelineZeroBubble(const RewriteInput& input) {
  return WritePipeline(input, PipelineSchedule::kZeroBubble);
}

}  // namespace lanescope
