// SPDX-License-Identifier: Apache-2.0
// The graph is cut into stages, one for each GPU, and the batch into micro-batches that pass through them:
// GPipe (Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism", 2019)
// and one forward, one backward (Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN
// Training", 2019, in the synchronous form of "Memory-Efficient Pipeline-Parallel DNN Training", 2021).
// Variables are where they are read first; gradients add up over the micro-batches, and one update ends the
// step, so that it computes what the graph computes.

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/place/placer.h"
#include "core/strategies/pipeline_passes.h"
#include "core/strategies/replicator.h"

namespace lanescope {
namespace {

constexpr int kPerStage = 4;  // micro-batches, as GPipe's authors find enough

template <typename... Args>
[[noreturn]] void RefusePipeline(fmt::format_string<Args...> text, Args&&... args) {
  Throw(Code::kInvalidArgument, "pipeline: {}", fmt::format(text, std::forward<Args>(args)...));
}

// Places in the order of the forward pass. Whatever else there is belongs to one of them: gradients to that
// of what they read, variables to that of their first reader, updates to that of their variable.
class ForwardOrder {
 public:
  ForwardOrder(const RewriteInput& input, const IdVector<NodeId, ReplicaRole>& roles)
      : input_(input),
        roles_(roles),
        order_(input.graph.TopologicalOrder()),
        groups_(ColocationGroups(input.graph)),
        place_(roles.size(), -1),
        forward_(roles.size(), false) {
    FindForward();
    PlaceShared();
    KeepGroups();
    PlaceBackward();
    PlaceUpdates();
  }

  int num_places() const { return num_places_; }
  // The place of a node; -1: it belongs nowhere.
  int place(NodeId id) const { return place_[id]; }
  // Before the loss; other nodes that depend on the batch go backward.
  bool is_forward(NodeId id) const { return forward_[id]; }

 private:
  const Node& node(NodeId id) const { return input_.graph.node(id); }
  bool IsReplicated(NodeId id) const { return roles_[id] == ReplicaRole::kReplicated; }
  bool IsUpdating(NodeId id) const { return roles_[id] == ReplicaRole::kUpdating; }

  template <typename Visit>
  void ForEachBefore(NodeId id, const Visit& visit) const {
    for (const Endpoint& endpoint : node(id).inputs) visit(endpoint.node);
    for (const NodeId control : node(id).control_inputs) visit(control);
  }

  // Finds the nodes that the loss depends on; without an update all of them.
  void FindForward() {
    const bool trains = std::any_of(order_.begin(), order_.end(), [&](NodeId id) { return IsUpdating(id); });
    std::string loss = input_.spec.loss;
    if (loss.empty() && !input_.spec.fetches.empty()) loss = input_.spec.fetches.front();
    if (trains && loss.empty()) RefusePipeline("the run configuration names no loss, so what goes backward?");
    IdVector<NodeId, bool> before(roles_.size(), !trains);
    if (trains) before[input_.graph.FindEndpoint(loss).node] = true;
    for (size_t i = order_.size(); i-- > 0;) {
      if (before[order_[i]]) ForEachBefore(order_[i], [&](NodeId other) { before[other] = true; });
    }
    for (const NodeId id : order_) {
      if (!IsReplicated(id) || !before[id]) continue;
      forward_[id] = true;
      place_[id] = num_places_++;
    }
    if (num_places_ == 0) RefusePipeline("no node depends on the batch");
  }

  // Where they are read first, by whatever is forward.
  void PlaceShared() {
    for (size_t i = order_.size(); i-- > 0;) {
      const int mine = place_[order_[i]];
      if (mine < 0) continue;
      ForEachBefore(order_[i], [&](NodeId before) {
        if (roles_[before] != ReplicaRole::kShared) return;
        int& place = place_[before];
        place = place < 0 ? mine : std::min(place, mine);
      });
    }
  }

  void KeepGroups() {
    of_group_.assign(roles_.size(), -1);
    for (const NodeId id : input_.graph.node_ids()) {
      if (place_[id] < 0 || IsReplicated(id)) continue;
      int& group = of_group_[groups_[id]];
      group = group < 0 ? place_[id] : std::min(group, place_[id]);
    }
    for (const NodeId id : input_.graph.node_ids()) {
      if (const int group = of_group_[groups_[id]]; group >= 0) place_[id] = group;
    }
  }

  // The gradient of an op reads what the op read or made, and gradients of later ops: it belongs to the last
  // op that its inputs allow and that does not come after those.
  void PlaceBackward() {
    const Fanout fanout = ComputeFanout(input_.graph);
    for (const NodeId id : order_) {
      if (!IsReplicated(id) || forward_[id] || of_group_[groups_[id]] >= 0) continue;
      int first_gradient = num_places_ - 1;
      ForEachBefore(id, [&](NodeId before) {
        if (IsReplicated(before) && !forward_[before])
          first_gradient = std::min(first_gradient, place_[before]);
      });
      int place = -1;
      const auto allow = [&](NodeId other) {
        if (place_[other] <= first_gradient) place = std::max(place, place_[other]);
      };
      for (const Endpoint& input : node(id).inputs) {
        if (IsReplicated(input.node) && !forward_[input.node]) continue;
        allow(input.node);
        if (!forward_[input.node]) continue;
        for (const NodeUse& use : fanout[input.node]) {
          if (forward_[use.node]) allow(use.node);
        }
      }
      place_[id] = place < 0 ? first_gradient : place;
    }
  }

  void PlaceUpdates() {
    for (const NodeId id : order_) {
      if (!IsUpdating(id) || place_[id] >= 0) continue;
      ForEachBefore(id, [&](NodeId before) { place_[id] = std::max(place_[id], place_[before]); });
    }
    // Nodes that only the update or a gradient reads take the place of their readers.
    for (size_t i = order_.size(); i-- > 0;) {
      const int mine = place_[order_[i]];
      if (mine < 0) continue;
      ForEachBefore(order_[i], [&](NodeId before) {
        if (roles_[before] != ReplicaRole::kFeed && place_[before] < 0) place_[before] = mine;
      });
    }
  }

  const RewriteInput& input_;
  const IdVector<NodeId, ReplicaRole>& roles_;
  const std::vector<NodeId> order_;
  const IdVector<NodeId, NodeId> groups_;
  IdVector<NodeId, int> place_;
  IdVector<NodeId, bool> forward_;
  IdVector<NodeId, int> of_group_;  // by group: the place of its state
  int num_places_ = 0;
};

// The load of a place on its GPU.
struct PlaceLoad {
  double ns = 0;          // forward and backward
  double state = 0;       // bytes of variables, of what updates them, and of their gradients
  double activation = 0;  // bytes that wait for the backward pass, of the whole batch
};

std::vector<PlaceLoad> LoadsOf(const RewriteInput& input, const IdVector<NodeId, ReplicaRole>& roles,
                               const ForwardOrder& order, DeviceId gpu) {
  std::vector<PlaceLoad> loads(static_cast<size_t>(order.num_places()));
  std::vector<TensorInfo> inputs;
  for (const NodeId id : input.graph.node_ids()) {
    if (order.place(id) < 0) continue;
    PlaceLoad& load = loads[static_cast<size_t>(order.place(id))];
    const Node& node = input.graph.node(id);
    const auto outputs = input.info.outputs(id);
    const OpDef* def = OpRegistry::Global().Find(node.op);
    if (def != nullptr && def->role == StateRole::kVariable) {
      const TensorInfo& info = input.info.of({id, 0});
      load.state += 2.0 * static_cast<double>(BytesOf(info.handle != nullptr ? *info.handle : info));
    }
    if (roles[id] != ReplicaRole::kReplicated) continue;
    inputs.clear();
    for (const Endpoint& endpoint : node.inputs) inputs.push_back(input.info.of(endpoint));
    load.ns += static_cast<double>(input.costs.Launch(input.machine, gpu, node, inputs, outputs).ns);
    if (!order.is_forward(id)) continue;
    for (const TensorInfo& output : outputs) load.activation += static_cast<double>(BytesOf(output));
  }
  for (PlaceLoad& load : loads) {
    load.state /= input.sharers;
    load.activation /= input.sharers;
  }
  return loads;
}

// The last place of every stage such that the longest stage is as short as contiguous stages can be whose
// memory suffices.
class StageCut {
 public:
  StageCut(const Machine& machine, const std::vector<DeviceId>& gpus, const std::vector<PlaceLoad>& loads,
           PipelineSchedule order, int micro_batches)
      : machine_(machine), gpus_(gpus), loads_(loads), order_(order), micro_batches_(micro_batches) {}

  std::vector<int> Run() const {
    double low = 0, high = 0;
    for (const PlaceLoad& load : loads_) {
      low = std::max(low, load.ns);
      high += load.ns;
    }
    std::vector<int> best = Pack(high);
    if (best.empty()) {
      RefusePipeline("no cut into {} stages fits the GPUs' memory with {} micro-batches", gpus_.size(),
                     micro_batches_);
    }
    for (int i = 0; i < 50 && low < high; ++i) {
      const double middle = (low + high) / 2;
      std::vector<int> ends = Pack(middle);
      if (ends.empty()) {
        low = middle;
      } else {
        best = std::move(ends);
        high = middle;
      }
    }
    return best;
  }

 private:
  // Fills one stage after the other; empty: that takes more stages than there are.
  std::vector<int> Pack(double most_ns) const {
    std::vector<int> ends;
    PlaceLoad stage;
    for (size_t place = 0; place < loads_.size(); ++place) {
      const PlaceLoad& load = loads_[place];
      const bool room = ends.size() < gpus_.size() && Fits(Sum(stage, load), ends.size());
      if (room && stage.ns + load.ns <= most_ns * (1 + 1e-12)) {
        stage = Sum(stage, load);
        continue;
      }
      ends.push_back(static_cast<int>(place) - 1);
      stage = load;
      if (ends.size() >= gpus_.size() || !Fits(stage, ends.size())) return {};
    }
    ends.push_back(static_cast<int>(loads_.size()) - 1);
    return ends;
  }
  static PlaceLoad Sum(const PlaceLoad& a, const PlaceLoad& b) {
    return {a.ns + b.ns, a.state + b.state, a.activation + b.activation};
  }
  bool Fits(const PlaceLoad& load, size_t stage) const {
    const int64_t limit = machine_.device(gpus_[stage]).memory_bytes;
    const int ahead =
        PassesAhead(order_, static_cast<int>(stage), static_cast<int>(gpus_.size()), micro_batches_);
    return limit <= 0 || load.state + load.activation * ahead / micro_batches_ <= static_cast<double>(limit);
  }

  const Machine& machine_;
  const std::vector<DeviceId>& gpus_;
  const std::vector<PlaceLoad>& loads_;
  const PipelineSchedule order_;
  const int micro_batches_;
};

// The most micro-batches that divide every fed batch, up to four a stage, in each of so many pipelines.
int MicroBatchesOf(const RunSpec& spec, size_t stages, int pipelines) {
  int64_t common = 0;
  for (const auto& [name, axis] : spec.batch_axis)
    common = std::gcd(common, spec.feeds.at(name).shape.dim(axis));
  for (int count = kPerStage * static_cast<int>(stages); count > 1; --count) {
    if (common % (int64_t{count} * pipelines) == 0) return count;
  }
  RefusePipeline("a batch of {} cannot be cut into up to {} micro-batches{}", common, kPerStage * stages,
                 pipelines == 1 ? std::string() : fmt::format(" for each of {} pipelines", pipelines));
}

// A stage's passes run one after the other: each begins when all of the last one has ended.
// `replica`: of a micro-batch.
void OrderPasses(const std::vector<NodeId>& forward, const std::vector<NodeId>& backward,
                 const std::string& scope, const std::vector<PipelinePass>& passes,
                 const ReplicatedGraph& replicated, const std::function<int(int)>& replica, Graph* graph) {
  NodeId barrier;
  for (size_t p = 0; p < passes.size(); ++p) {
    const std::vector<NodeId>& nodes = passes[p].backward ? backward : forward;
    if (nodes.empty()) continue;
    IdVector<NodeId, bool> mine(graph->num_nodes(), false), read = mine;
    std::vector<NodeId> ids;
    for (const NodeId id : nodes) {
      ids.push_back(ReplicaAt(replicated.first[id], replica(passes[p].micro_batch)));
      mine[ids.back()] = true;
    }
    for (const NodeId id : ids) {
      bool inside = false;
      const auto visit = [&](NodeId before) {
        if (!mine[before]) return;
        read[before] = true;
        inside = true;
      };
      for (const Endpoint& endpoint : graph->node(id).inputs) visit(endpoint.node);
      for (const NodeId control : graph->node(id).control_inputs) visit(control);
      if (!inside && barrier.exists()) graph->node(id).control_inputs.push_back(barrier);
    }
    Node next;
    next.name =
        fmt::format("{}{}_{}", scope, passes[p].backward ? "backward" : "forward", passes[p].micro_batch);
    next.op = "NoOp";
    next.device = graph->node(ids.front()).device;
    for (const NodeId id : ids) {
      if (!read[id]) next.control_inputs.push_back(id);
    }
    barrier = graph->AddNode(std::move(next));
  }
}

StepGraph WritePipeline(const RewriteInput& input, PipelineSchedule order) {
  const std::vector<DeviceId>& gpus = input.gpus;
  if (gpus.size() < 2) RefusePipeline("the machine has fewer than two GPUs");
  if (input.spec.batch_axis.empty()) RefusePipeline("{}", kNoBatchAxis);
  const IdVector<NodeId, ReplicaRole> roles = FindReplicaRoles(input.graph, input.spec);
  const ForwardOrder places(input, roles);
  const auto pipelines = static_cast<size_t>(input.groups);
  const std::vector<DeviceId> first(gpus.begin(),
                                    gpus.begin() + static_cast<ptrdiff_t>(gpus.size() / pipelines));
  const int micro_batches = MicroBatchesOf(input.spec, first.size(), input.groups);
  const std::vector<PlaceLoad> loads = LoadsOf(input, roles, places, gpus.front());
  const std::vector<int> ends = StageCut(input.machine, first, loads, order, micro_batches).Run();
  const auto stage_of = [&](NodeId id) {
    const int place = places.place(id);
    return place < 0 ? -1
                     : static_cast<int>(std::lower_bound(ends.begin(), ends.end(), place) - ends.begin());
  };
  // Replicas of a micro-batch follow each other, one for each pipeline: sums grow as they come.
  const auto gpu_of = [&](size_t pipeline, int stage) {
    return gpus[pipeline * first.size() + static_cast<size_t>(stage)];
  };
  const ReplicaPlan plan{.strategy = "pipeline",
                         .scope = "micro_",
                         .replicas = micro_batches * input.groups,
                         .device =
                             [&](NodeId id, int replica) {
                               const int stage = stage_of(id);
                               const size_t pipeline = static_cast<size_t>(std::max(replica, 0)) % pipelines;
                               return stage < 0 ? std::string()
                                                : input.machine.device(gpu_of(pipeline, stage)).name;
                             },
                         .accumulate = true};
  ReplicatedGraph replicated = Replicate(input, plan, roles);
  std::vector<std::vector<NodeId>> forward(ends.size()), backward(ends.size());
  for (const NodeId id : input.graph.node_ids()) {
    if (roles[id] != ReplicaRole::kReplicated) continue;
    (places.is_forward(id) ? forward : backward)[static_cast<size_t>(stage_of(id))].push_back(id);
  }
  for (size_t i = 0; i < ends.size() * pipelines; ++i) {
    const size_t stage = i % ends.size(), pipeline = i / ends.size();
    const std::string of = pipelines == 1 ? "" : fmt::format("pipeline_{}/", pipeline);
    OrderPasses(
        forward[stage], backward[stage], fmt::format("pipeline/{}stage_{}/", of, stage),
        PassesOf(order, static_cast<int>(stage), static_cast<int>(ends.size()), micro_batches), replicated,
        [&](int micro) { return micro * input.groups + static_cast<int>(pipeline); }, &replicated.step.graph);
  }
  return std::move(replicated.step);
}

}  // namespace

StepGraph WritePipeline1F1B(const RewriteInput& input) {
  return WritePipeline(input, PipelineSchedule::k1F1B);
}
StepGraph WritePipelineGPipe(const RewriteInput& input) {
  return WritePipeline(input, PipelineSchedule::kGPipe);
}

}  // namespace lanescope
