// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/stage_times.h"

#include <algorithm>
#include <cmath>

#include "sims/plans/network.h"
#include "sims/plans/parameters.h"

namespace lanescope::sims::plans {
namespace {

// Bytes that copies beside the collectives of sharded parameters move for a parameter: out of what is
// gathered; into what is scattered, with the gradients' change to fp32 and their scaling.
constexpr double kGatheredCopies = 4, kScatteredCopies = 14;
// Bytes that the optimizer moves for a parameter: gradient, its two averages and the parameter, read and
// written, with the gradient's norm and the bf16 copy; all in bf16 half of it. And what of it no parameter
// causes.
constexpr double kUpdateBytes = 34, kPureUpdateBytes = 14, kUpdateSeconds = 200e-6;
// Steps of nodes differ: the last of many is this many standard deviations late, of 1%.
double LatestOf(double nodes) { return 0.01 * std::sqrt(2 * std::log(std::max(1.0, nodes))); }

// Time of a launch: an operator of PyTorch with its gradient's bookkeeping, or of hand-written modules and
// compiled code.
double LaunchSeconds(Kernels kernels) { return kernels == Kernels::kEager ? 9e-6 : 7e-6; }

template <typename Member>
double Sum(const std::vector<PassTimes>& passes, Member member) {
  double sum = 0;
  for (const PassTimes& pass : passes) sum += (pass.*member)();
  return sum;
}

class Timer {
 public:
  Timer(const ModelShape& model, const Plan& plan, const PlanMachine& machine, double sequence)
      : model_(model), plan_(plan), machine_(machine), layers_(model, plan, machine, sequence) {}

  PlanTimes Times(double global_batch) const {
    PlanTimes times;
    times.parts = plan_.vpp;
    times.micro_batches = std::max(1.0, global_batch / (static_cast<double>(plan_.micro) * plan_.dp));
    times.reduces_to_parts = plan_.shard != Sharding::kNone;
    times.straggling = LatestOf(machine_.cluster.nodes);
    times.message = MessageTime();
    times.message_share = plan_.vpp > 1 ? machine_.collective_share : 1;
    const Passed layer = AverageLayer(), embedding = layers_.Embedding(), head = layers_.Head();
    const LayerShards shards = ShardsOf(layer);
    times.stages.resize(static_cast<size_t>(plan_.pp));
    for (int s = 0; s < plan_.pp; ++s) {
      StageTimes& stage = times.stages[static_cast<size_t>(s)];
      for (const double here : LayersOfParts(s)) {
        stage.forward.push_back(Layers(layer, shards, here, false));
        stage.backward.push_back(Layers(layer, shards, here, true));
      }
      if (s == 0) AddEnd(embedding, &stage.forward.front(), &stage.backward.front());
      if (s == plan_.pp - 1) AddEnd(head, &stage.forward.back(), &stage.backward.back());
      const StageParameters held = ParametersOf(model_, plan_, s);
      SetCollectives(held, &stage);
      stage.update = Update(held);
    }
    return times;
  }

 private:
  struct LayerShards {
    BesideWork forward_gather, backward_gather, scatter;
  };

  // A stage that has fewer layers than others lacks them where the embedding or the output layer is.
  std::vector<double> LayersOfParts(int stage) const {
    const double all = std::ceil(model_.layers / plan_.pp);
    double missing = all - StageLayers(model_, plan_, stage);
    std::vector<double> parts(static_cast<size_t>(plan_.vpp), all / plan_.vpp);
    const auto take = [&](double& layers) {
      const double taken = std::min(layers, missing);
      layers -= taken;
      missing -= taken;
    };
    if (stage == 0) {
      std::for_each(parts.begin(), parts.end(), take);
    } else {
      std::for_each(parts.rbegin(), parts.rend(), take);
    }
    return parts;
  }

  // By the host, which launches what is computed again with the rest.
  double BeyondKernels(const Work& work) const {
    if (plan_.graphs) return 0;
    return std::max(0.0, work.launches * LaunchSeconds(plan_.kernels) - work.kernels());
  }
  static Work Joined(Work a, const Work& b) { return a += b; }
  double Seconds(const Work& work) const { return work.kernels() + BeyondKernels(work); }

  PassTimes Layers(const Passed& layer, const LayerShards& shards, double count, bool backward) const {
    const auto times = [count](const BesideWork& one) {
      return BesideWork{count * one.exposed, count * one.hidden};
    };
    PassTimes pass;
    if (backward) {
      pass.gather = times(shards.backward_gather);
      pass.again = count * layer.again;
      pass.scatter = times(shards.scatter);
    } else {
      pass.gather = times(shards.forward_gather);
    }
    pass.work = count * (backward ? layer.backward : layer.forward);
    pass.launches = count * BeyondKernels(backward ? Joined(layer.backward, layer.again) : layer.forward);
    return pass;
  }

  // Embedding or output layer.
  void AddEnd(const Passed& end, PassTimes* forward, PassTimes* backward) const {
    forward->work += end.forward;
    forward->launches += BeyondKernels(end.forward);
    backward->work += end.backward;
    backward->launches += BeyondKernels(end.backward);
  }

  Passed AverageLayer() const {
    if (!model_.IsMixture()) return layers_.Layer(false);
    const double share = model_.MoeLayers() / model_.layers;
    Passed average;
    for (const bool mixture : {false, true}) {
      const double weight = mixture ? share : 1 - share;
      if (weight == 0) continue;
      const Passed layer = layers_.Layer(mixture);
      average.forward += weight * layer.forward;
      average.backward += weight * layer.backward;
      average.again += weight * layer.again;
    }
    return average;
  }

  Group Replicas() const { return {plan_.shard_ways(), plan_.tp}; }
  Group ExpertGroup() const { return {static_cast<int>(ExpertReplicas(plan_)), plan_.tp * plan_.ep}; }

  // The cost of collectives beside work: those that take longer than it, and the multiprocessors of the
  // others.
  BesideWork Beside(double collectives, double work) const {
    const double hidden = std::min(collectives, work);
    return {std::max(0.0, collectives - work) + machine_.collective_share * hidden, hidden};
  }

  // For a layer: the next layer's parameters come and the last one's gradients go meanwhile.
  LayerShards ShardsOf(const Passed& layer) const {
    if (!plan_.ShardsParameters() || plan_.replicas() == 1) return {};
    const double forward = Seconds(layer.forward), backward = Seconds(Joined(layer.backward, layer.again));
    const double count = LayerParametersOf(model_, plan_);
    const DataType reduced = plan_.precision == Precision::kPureBf16 ? DataType::kBfloat16 : DataType::kFloat;
    const double bytes = static_cast<double>(ElementSize(reduced)) * count;
    const double gather = GatherSeconds(machine_.cluster, Replicas(), 2 * count);
    double scatter = ScatterSeconds(machine_.cluster, Replicas(), bytes, reduced);
    if (plan_.shard == Sharding::kHsdp) {
      const int ways = plan_.shard_ways();
      scatter += AllReduceSeconds(machine_.cluster, {plan_.replicas() / ways, plan_.tp * ways}, bytes / ways);
    }
    LayerShards shards;
    shards.forward_gather = Beside(gather, forward);
    shards.forward_gather.exposed += PassSeconds(machine_.kernels, kGatheredCopies * count);
    // Both run one after the other beside the same work.
    shards.backward_gather = Beside(gather, backward);
    const BesideWork both = Beside(gather + scatter, backward);
    shards.scatter = {both.exposed - shards.backward_gather.exposed +
                          PassSeconds(machine_.kernels, kScatteredCopies * count),
                      both.hidden - shards.backward_gather.hidden};
    return shards;
  }

  double MessageTime() const {
    if (plan_.pp == 1) return 0;
    const double bytes = 2 * layers_.tokens() * model_.hidden / (plan_.sp ? plan_.tp : 1);
    return MessageSeconds(machine_.cluster, plan_.tp * plan_.replicas(), bytes);
  }

  // Gradients hide behind the last micro-batch's backward pass but for the last bucket, of a layer;
  // parameters behind the first's forward pass but for the first.
  void SetCollectives(const StageParameters& held, StageTimes* stage) const {
    if (plan_.ShardsParameters()) return;
    // Dense parameters and experts have groups of their own; `bytes` is of one parameter.
    const auto both = [&](const auto& collective, double bytes) {
      return collective(Replicas(), bytes * held.dense) + collective(ExpertGroup(), bytes * held.experts);
    };
    const auto all_reduce = [&](const Group& group, double bytes) {
      return AllReduceSeconds(machine_.cluster, group, bytes);
    };
    const auto but_a_bucket = [&](double collective, double work) {
      const double bucket = collective * std::max(held.ends / 2, held.dense / (held.layers + 1)) / held.dense;
      BesideWork rest = Beside(collective - bucket, work * held.layers / (held.layers + 1));
      rest.exposed += bucket;
      return rest;
    };
    const bool narrow = plan_.kernels == Kernels::kFused || plan_.precision == Precision::kPureBf16;
    const DataType reduced = narrow ? DataType::kBfloat16 : DataType::kFloat;
    const auto size = static_cast<double>(ElementSize(reduced));
    const double forward = stage->forward_seconds(), backward = stage->backward_seconds();
    if (plan_.shard == Sharding::kNone) {
      stage->reduce = but_a_bucket(both(all_reduce, size), backward);
      return;
    }
    const auto scatter = [&](const Group& group, double bytes) {
      return ScatterSeconds(machine_.cluster, group, bytes, reduced);
    };
    const auto gather = [&](const Group& group, double bytes) {
      return GatherSeconds(machine_.cluster, group, bytes);
    };
    const double gathered = FormatOf(plan_.precision) == Format::kFp8 ? 1 : 2;
    stage->reduce = but_a_bucket(both(scatter, size), backward);
    stage->gather = but_a_bucket(both(gather, gathered), forward);
  }

  double Update(const StageParameters& held) const {
    const double count = plan_.shard == Sharding::kNone
                             ? held.trained()
                             : held.Split(plan_.shard_ways(), ExpertReplicas(plan_));
    const double bytes = plan_.precision == Precision::kPureBf16 ? kPureUpdateBytes : kUpdateBytes;
    return PassSeconds(machine_.kernels, bytes * count) + kUpdateSeconds;
  }

  const ModelShape& model_;
  const Plan& plan_;
  const PlanMachine& machine_;
  const LayerTimes layers_;
};

}  // namespace

double StageTimes::forward_seconds() const { return Sum(forward, &PassTimes::seconds); }
double StageTimes::backward_seconds() const { return Sum(backward, &PassTimes::seconds); }

PlanTimes TimesOf(const ModelShape& model, const Plan& plan, const PlanMachine& machine, double global_batch,
                  double sequence) {
  return Timer(model, plan, machine, sequence).Times(global_batch);
}

}  // namespace lanescope::sims::plans
