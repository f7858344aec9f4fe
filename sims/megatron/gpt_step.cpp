// SPDX-License-Identifier: Apache-2.0
#include "sims/megatron/gpt_step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/base/error.h"

namespace lanescope::sims::megatron {
namespace {

constexpr double kHalfBytes = 2;

void CheckNumbers(const GptModel& model, const GptLayout& layout) {
  for (const double number :
       {model.layers, model.hidden, model.heads, model.sequence, model.vocabulary, layout.batch,
        layout.micro_batch, layout.tensor, layout.data, layout.pipeline}) {
    if (!(number >= 1 && number <= 1e9 && number == std::floor(number)))
      Throw(Code::kInvalidArgument, "a model and its layout are whole numbers from 1 on, not {}", number);
  }
}

void CheckLayout(const GptModel& model, const GptLayout& layout) {
  CheckNumbers(model, layout);
  const auto divides = [](double whole, double part, const char* what, const char* by) {
    if (std::fmod(whole, part) != 0)
      Throw(Code::kInvalidArgument, "{} {} are no multiple of {} {}", whole, what, part, by);
  };
  divides(model.hidden, model.heads, "hidden values", "heads");
  divides(model.heads, layout.tensor, "heads", "tensor-parallel GPUs");
  divides(model.layers, layout.pipeline, "layers", "stages");
  divides(layout.batch, layout.micro_batch * layout.data, "sequences of a batch", "sequences at once");
}

// The parts of a step on one GPU.
class StepParts {
 public:
  StepParts(const GptModel& model, const GptLayout& layout, const MegatronRules& rules)
      : model_(model),
        layout_(layout),
        rules_(rules),
        tokens_(layout.micro_batch * model.sequence),
        activation_bytes_(kHalfBytes * tokens_ * model.hidden) {}

  // Forward and backward, with the all-reduces inside: two each way, two more where the forward pass repeats.
  double Layer() const {
    const double launches = rules_.host.layer_s + (SoftmaxIsFused() ? 0 : rules_.host.unfused_softmax_s);
    return Longer(launches * (1 + Repeats() / 3), LayerKernels());
  }

  // Its parts, stretched where launching them takes longer.
  GptTimes Parts() const {
    const double stretch = Layer() / LayerKernels();
    GptTimes times;
    const std::array<double, 5> forward = Forward(), backward = Backward();
    for (size_t i = 0; i < forward.size(); ++i) {
      times.forward[i] = stretch * forward[i];
      times.backward[i] = stretch * backward[i];
    }
    times.all_reduce = stretch * Collectives() / (4 + 2 * Repeats());
    times.arrival = Arrival() * 4 / (4 + 2 * Repeats());
    times.all_reduce_bytes = activation_bytes_;
    times.replica_bytes = kHalfBytes * Parameters();
    times.tied_bytes = kHalfBytes * SplitVocabulary() * model_.hidden;
    times.embedding = Embedding();
    times.head = Head();
    times.replicas = ReplicaReduce();
    times.tied = TiedReduce();
    times.update = Update();
    return times;
  }

  // Output layer and loss.
  double Head() const {
    const double n = tokens_, v = SplitVocabulary(), h = model_.hidden;
    const Gpu& gpu = rules_.gpu;
    // Where nobody splits the vocabulary nobody pads it, and its odd number leaves rows unaligned.
    const double share = std::fmod(v, 8) == 0 ? 1 : gpu.unaligned_share;
    const double products =
        (ProductSeconds(gpu, n, v, h) + ProductSeconds(gpu, n, h, v) + ProductSeconds(gpu, v, h, n)) / share;
    return Longer(rules_.host.head_s,
                  products + Passes(rules_.passes.logits, n * v) + TensorReduce() + Arrival());
  }

  double Embedding() const {
    return Longer(rules_.host.embedding_s,
                  Passes(rules_.passes.embedding, tokens_ * model_.hidden) + TensorReduce() + Arrival());
  }

  // To the next stage and its gradient back; the GPUs of a tensor group send a part each.
  double Messages() const {
    if (layout_.pipeline == 1) return 0;
    return 2 * MessageSeconds(rules_.cluster, activation_bytes_ / layout_.tensor, SpansNodes());
  }

  double Gradients() const { return ReplicaReduce() + TiedReduce(); }

  double Update() const {
    return Parameters() * rules_.passes.update_bytes / rules_.gpu.memory_bytes_per_s +
           rules_.host.update_layer_s * StageLayers() + rules_.host.step_s;
  }

  double StageLayers() const { return std::ceil(model_.layers / layout_.pipeline); }

 private:
  double Longer(double host, double kernels) const {
    const double norm = rules_.host.overlap;
    return std::pow(std::pow(host, norm) + std::pow(kernels, norm), 1 / norm);
  }

  double Passes(double passes, double elements) const {
    return passes * kHalfBytes * elements / rules_.gpu.memory_bytes_per_s;
  }

  double Repeats() const { return layout_.recompute ? 1 : 0; }
  static double Sum(const std::array<double, 5>& parts) {
    return std::accumulate(parts.begin(), parts.end(), 0.0);
  }
  double LayerKernels() const { return Sum(Forward()) * (1 + Repeats()) + Sum(Backward()) + Collectives(); }
  double Collectives() const { return (4 + 2 * Repeats()) * TensorReduce() + 4 * Arrival(); }

  // A third of the passes is forward. Normalisations stand before the products that the group splits by
  // columns, residuals after the others, and the activation between the last two.
  std::array<double, 5> Forward() const {
    const auto product = [&](double in, double out) { return ProductSeconds(rules_.gpu, tokens_, out, in); };
    const double h = model_.hidden, t = layout_.tensor;
    return {product(h, 3 * h / t) + WholePasses() / 12,
            Scores() + Context() + SplitPasses() / 6 + ScorePasses() / 3,
            product(h / t, h) + WholePasses() / 12,
            product(h, 4 * h / t) + WholePasses() / 12 + SplitPasses() / 6,
            product(4 * h / t, h) + WholePasses() / 12};
  }
  std::array<double, 5> Backward() const {
    const auto products = [&](double in, double out) {
      return ProductSeconds(rules_.gpu, tokens_, in, out) + ProductSeconds(rules_.gpu, out, in, tokens_);
    };
    const double h = model_.hidden, t = layout_.tensor;
    return {products(h, 3 * h / t) + WholePasses() / 6,
            3 * Context() + Scores() + SplitPasses() / 3 + ScorePasses() * 2 / 3,
            products(h / t, h) + WholePasses() / 6,
            products(h, 4 * h / t) + WholePasses() / 6 + SplitPasses() / 3,
            products(4 * h / t, h) + WholePasses() / 6};
  }

  double HeadsHere() const { return layout_.micro_batch * model_.heads / layout_.tensor; }
  double Scores() const {  // queries times keys
    const double s = model_.sequence;
    return ProductSeconds(rules_.gpu, s, s, model_.hidden / model_.heads, HeadsHere());
  }
  double Context() const {  // scores times values
    const double s = model_.sequence;
    return ProductSeconds(rules_.gpu, s, model_.hidden / model_.heads, s, HeadsHere());
  }
  // Megatron's fused kernel takes four attention matrices at a time.
  bool SoftmaxIsFused() const { return std::fmod(HeadsHere(), 4) == 0; }

  double WholePasses() const { return Passes(rules_.passes.whole, tokens_ * model_.hidden); }
  double SplitPasses() const { return Passes(rules_.passes.split, tokens_ * model_.hidden / layout_.tensor); }
  double ScorePasses() const {
    return Passes(rules_.passes.scores + (SoftmaxIsFused() ? 0 : rules_.passes.unfused),
                  HeadsHere() * model_.sequence * model_.sequence);
  }

  double ReplicaReduce() const {
    const double node = rules_.cluster.gpus_per_node;
    const Ring replicas{layout_.data, std::max(1.0, node / layout_.tensor), std::min(layout_.tensor, node)};
    return AllReduceSeconds(rules_.cluster, kHalfBytes * Parameters(), replicas);
  }
  double TiedReduce() const {
    if (layout_.pipeline == 1) return 0;
    const Ring ends{2, SpansNodes() ? 1.0 : 2.0, std::min(rules_.cluster.gpus_per_node, layout_.gpus())};
    return AllReduceSeconds(rules_.cluster, kHalfBytes * SplitVocabulary() * model_.hidden, ends);
  }
  double TensorReduce() const {
    return AllReduceSeconds(rules_.cluster, activation_bytes_,
                            {layout_.tensor, rules_.cluster.gpus_per_node, 1});
  }
  double Arrival() const {
    if (layout_.tensor == 1) return 0;
    const double others = std::min(layout_.tensor, rules_.cluster.gpus_per_node) - 1;
    return rules_.host.collective_s + rules_.host.collective_s_per_gpu * others;
  }

  bool SpansNodes() const { return layout_.gpus() > rules_.cluster.gpus_per_node; }
  double SplitVocabulary() const { return megatron::SplitVocabulary(model_, layout_); }
  double Parameters() const {
    return StageLayers() * 12 * model_.hidden * model_.hidden / layout_.tensor +
           SplitVocabulary() * model_.hidden;
  }

  const GptModel& model_;
  const GptLayout& layout_;
  const MegatronRules& rules_;
  const double tokens_;
  const double activation_bytes_;
};

}  // namespace

GptTimes TimesOf(const GptModel& model, const GptLayout& layout, const MegatronRules& rules) {
  CheckLayout(model, layout);
  return StepParts(model, layout, rules).Parts();
}

double SplitVocabulary(const GptModel& model, const GptLayout& layout) {
  if (layout.tensor == 1) return model.vocabulary;
  return std::ceil(model.vocabulary / (128 * layout.tensor)) * 128;
}

GptStep EstimateGptStep(const GptModel& model, const GptLayout& layout, const MegatronRules& rules) {
  CheckNumbers(model, layout);
  const StepParts parts(model, layout, rules);
  const double layers = parts.StageLayers() * parts.Layer();
  const double head = parts.Head(), embedding = parts.Embedding(), messages = parts.Messages();
  const double p = layout.pipeline, n = std::ceil(layout.micro_batches());
  // The time of one micro-batch: the embedding is in the first stage, the output layer in the last.
  const double ends = p == 1 ? embedding + head : std::max(embedding, head);
  const double all_stages = p * layers + embedding + head + messages * (p - 1);
  GptStep step;
  step.layers = n * layers;
  step.ends = n * ends;
  step.messages = (n - 1) * messages;
  step.bubble = all_stages - layers - ends;
  step.gradients = parts.Gradients();
  step.update = parts.Update();
  step.seconds = step.layers + step.ends + step.messages + step.bubble + step.gradients + step.update;
  return step;
}

}  // namespace lanescope::sims::megatron
