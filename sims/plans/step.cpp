// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/step.h"

#include <algorithm>
#include <cmath>

#include "sims/plans/layer.h"
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

class StepParts {
 public:
  StepParts(const ModelShape& model, const Plan& plan, const PlanMachine& machine, double batch,
            double sequence)
      : model_(model),
        plan_(plan),
        machine_(machine),
        layers_(model, plan, machine, sequence),
        micro_batches_(std::max(1.0, batch / (static_cast<double>(plan.micro) * plan.dp))) {}

  PlanStep Estimate() const {
    const Passed layer = AverageLayer(), embedding = layers_.Embedding(), head = layers_.Head();
    const double f_layer = Seconds(layer.forward), b_layer = Seconds(layer.backward);
    const auto [f_shards, b_shards] = Shards(f_layer, b_layer);
    const double ends[] = {Seconds(embedding.forward), Seconds(embedding.backward), Seconds(head.forward),
                           Seconds(head.backward)};
    double all = 0, all_forward = 0, longest = 0, longest_forward = 0;
    int slowest = 0;
    for (int stage = 0; stage < plan_.pp; ++stage) {
      const double here = StageLayers(model_, plan_, stage);
      double forward = here * (f_layer + f_shards), backward = here * (b_layer + b_shards);
      if (stage == 0) forward += ends[0], backward += ends[1];
      if (stage == plan_.pp - 1) forward += ends[2], backward += ends[3];
      all += forward + backward;
      all_forward += forward;
      longest_forward = std::max(longest_forward, forward);
      if (forward + backward > longest) {
        longest = forward + backward;
        slowest = stage;
      }
    }
    PlanStep step;
    const double n = micro_batches_, here = StageLayers(model_, plan_, slowest);
    Add(layer, n * here, &step);
    if (slowest == 0) Add(embedding, n, &step);
    if (slowest == plan_.pp - 1) Add(head, n, &step);
    step.shards = n * here * (f_shards + b_shards);
    step.bubble = (all - longest) / plan_.vpp;
    step.messages = Messages();
    step.forward = n * longest_forward + (all_forward - longest_forward) / plan_.vpp;
    const StageParameters held = ParametersOf(model_, plan_, slowest);
    step.gradients = Gradients(held, longest_forward, longest - longest_forward);
    step.update = Update(held);
    step.stragglers = LatestOf(machine_.cluster.nodes) * step.seconds();
    return step;
  }

 private:
  double Seconds(const Work& work) const {
    if (plan_.graphs) return work.kernels();
    return std::max(work.kernels(), work.launches * LaunchSeconds(plan_.kernels));
  }

  void Add(const Passed& passed, double times, PlanStep* step) const {
    for (const Work* work : {&passed.forward, &passed.backward}) {
      step->products += times * work->products;
      step->attention += times * work->attention;
      step->passes += times * work->passes;
      step->exchanges += times * work->exchanges;
      step->launches += times * (Seconds(*work) - work->kernels());
    }
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
    }
    return average;
  }

  Group Replicas() const { return {plan_.shard_ways(), plan_.tp}; }
  Group ExpertGroup() const { return {static_cast<int>(ExpertReplicas(plan_)), plan_.tp * plan_.ep}; }

  // The cost of collectives beside work: those that take longer than it, and the multiprocessors of the
  // others.
  double Beside(double collectives, double work) const {
    return std::max(0.0, collectives - work) + machine_.collective_share * std::min(collectives, work);
  }

  // Exposed for a layer, forward and backward: the next layer's parameters come and the last one's gradients
  // go meanwhile.
  std::pair<double, double> Shards(double forward, double backward) const {
    if (!plan_.ShardsParameters() || plan_.replicas() == 1) return {0, 0};
    const double count = LayerParametersOf(model_, plan_);
    const DataType reduced = plan_.precision == Precision::kPureBf16 ? DataType::kBfloat16 : DataType::kFloat;
    const double bytes = static_cast<double>(ElementSize(reduced)) * count;
    const double gather = GatherSeconds(machine_.cluster, Replicas(), 2 * count);
    double scatter = ScatterSeconds(machine_.cluster, Replicas(), bytes, reduced);
    if (plan_.shard == Sharding::kHsdp) {
      const int ways = plan_.shard_ways();
      scatter += AllReduceSeconds(machine_.cluster, {plan_.replicas() / ways, plan_.tp * ways}, bytes / ways);
    }
    return {Beside(gather, forward) + PassSeconds(machine_.kernels, kGatheredCopies * count),
            Beside(gather + scatter, backward) + PassSeconds(machine_.kernels, kScatteredCopies * count)};
  }

  // Filling and draining wait for every message. Interleaved stages send more of them, beside their work.
  double Messages() const {
    if (plan_.pp == 1) return 0;
    const double bytes = 2 * layers_.tokens() * model_.hidden / (plan_.sp ? plan_.tp : 1);
    const double one = MessageSeconds(machine_.cluster, plan_.tp * plan_.replicas(), bytes);
    const double steady = 2 * (micro_batches_ * plan_.vpp - 1) * one;
    return 2 * (plan_.pp - 1) * one + (plan_.vpp > 1 ? machine_.collective_share : 1) * steady;
  }

  // Gradients hide behind the last micro-batch's backward pass but for the last bucket, of a layer;
  // parameters behind the first's forward pass but for the first.
  double Gradients(const StageParameters& held, double forward, double backward) const {
    if (plan_.ShardsParameters()) return 0;
    // Dense parameters and experts have groups of their own; `bytes` is of one parameter.
    const auto both = [&](const auto& collective, double bytes) {
      return collective(Replicas(), bytes * held.dense) + collective(ExpertGroup(), bytes * held.experts);
    };
    const auto all_reduce = [&](const Group& group, double bytes) {
      return AllReduceSeconds(machine_.cluster, group, bytes);
    };
    const auto exposed = [&](double collective, double work) {
      const double bucket = collective * std::max(held.ends / 2, held.dense / (held.layers + 1)) / held.dense;
      return bucket + Beside(collective - bucket, work * held.layers / (held.layers + 1));
    };
    const bool narrow = plan_.kernels == Kernels::kFused || plan_.precision == Precision::kPureBf16;
    const DataType reduced = narrow ? DataType::kBfloat16 : DataType::kFloat;
    const auto size = static_cast<double>(ElementSize(reduced));
    if (plan_.shard == Sharding::kNone) return exposed(both(all_reduce, size), backward);
    const auto scatter = [&](const Group& group, double bytes) {
      return ScatterSeconds(machine_.cluster, group, bytes, reduced);
    };
    const auto gather = [&](const Group& group, double bytes) {
      return GatherSeconds(machine_.cluster, group, bytes);
    };
    const double gathered = FormatOf(plan_.precision) == Format::kFp8 ? 1 : 2;
    return exposed(both(scatter, size), backward) + exposed(both(gather, gathered), forward);
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
  const double micro_batches_;
};

}  // namespace

std::pair<std::string_view, double> PlanStep::largest() const {
  const std::pair<std::string_view, double> parts[] = {
      {"products", products},   {"attention", attention}, {"passes", passes},        {"exchanges", exchanges},
      {"launches", launches},   {"shards", shards},       {"bubble", bubble},        {"messages", messages},
      {"gradients", gradients}, {"update", update},       {"stragglers", stragglers}};
  return *std::max_element(std::begin(parts), std::end(parts),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
}

PlanStep EstimateStep(const ModelShape& model, const Plan& plan, const PlanMachine& machine,
                      double global_batch, double sequence) {
  return StepParts(model, plan, machine, global_batch, sequence).Estimate();
}

double StepResidual(const ModelShape& model) { return model.IsMixture() ? 0.4 : 0.14; }

double LowerBoundSeconds(const ModelShape& model, Precision precision, const PlanMachine& machine,
                         double global_batch, double sequence) {
  return FlopsPerToken(model, sequence) * global_batch * sequence /
         (machine.gpus() * machine.kernels.product(FormatOf(precision)).flops);
}

}  // namespace lanescope::sims::plans
