// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/layer.h"

#include <algorithm>
#include <cmath>

#include "sims/plans/network.h"

namespace lanescope::sims::plans {
namespace {

// Bytes that kernels between products move, for every value of a token: over the hidden values (two norms,
// two residual sums), over queries and keys (rotation), over the feed-forward network's width, over the
// logits.
struct PassBytes {
  double hidden = 0, rotated = 0, gated = 0, plain = 0;
};
struct KernelPasses {
  PassBytes forward, backward;
  double logits = 0;    // forward and backward
  double launches = 0;  // of a layer, forward; backward has twice as many
};
KernelPasses PassesOf(Kernels kernels) {
  switch (kernels) {
    case Kernels::kEager:
      return {{20, 16, 10, 4}, {32, 16, 16, 6}, 44, 20};
    case Kernels::kCompiled:
      return {{16, 4, 6, 4}, {20, 4, 10, 6}, 16, 12};
    case Kernels::kFused:
      return {{20, 4, 6, 4}, {26, 4, 10, 6}, 24, 16};
  }
  return {};
}

// A fused loss reads logits in bf16, once for each pass, and writes their gradients.
constexpr double kFusedLossBytes = 6;

// Kernels that make a product's operand narrow: its scale, and the values in both orders.
constexpr double kQuantizers = 2;
// Between two kernels nothing runs, however they are launched.
constexpr double kGapSeconds = 2.5e-6;
void AddLaunches(double launches, Work* work) {
  work->launches += launches;
  work->passes += launches * kGapSeconds;
}

// Attention's gradients take five products where the forward pass takes two.
constexpr double kBackwardFlops = 2.5;
// Bytes over a score forward where scores lie in memory (written, scaled, masked, normalised, read), and over
// a result where rounds of a ring are joined.
constexpr double kScoreBytes = 10, kJoinBytes = 10;
constexpr double kLatentHead = 160;  // values of a key and a value of low-rank attention, on average

// Backward over forward, and the law of an older kernel in `laws`: speeds on an A100 of flash attention 1 and
// 2 with heads of 128 and causal masks (Dao, "FlashAttention-2", 2023, figure 4: 1 forward and backward
// together 90e12, 2 up to 189e12; 335e12 on an H100).
double AttentionBackward(Attention attention, KernelLaws* laws) {
  constexpr double kBest = 0.8, kOld = 0.95;  // speed backward over speed forward
  AttentionLaw& law = laws->attention;
  if (attention == Attention::kFp8) law.share *= 1.3;
  if (attention != Attention::kFlash1 && attention != Attention::kFlash2) return kBackwardFlops / kBest;
  const bool ampere = laws->product(Format::kFp8).flops == 0;
  double flops = ampere ? 190e12 : 335e12;
  if (attention == Attention::kFlash1) {
    flops *= 106.0 / 190;
    law.tile = 400;
  }
  law.share = law.share_64 = flops / laws->product(Format::kBf16).flops;
  return kBackwardFlops / kOld;
}

}  // namespace

Format FormatOf(Precision precision) {
  switch (precision) {
    case Precision::kBf16:
    case Precision::kPureBf16:
      return Format::kBf16;
    case Precision::kFp8:
    case Precision::kFp8Row:
    case Precision::kMxfp8:  // its scales cost the products nothing
      return Format::kFp8;
    case Precision::kFp8Block:
      return Format::kFp8Block;
    case Precision::kNvfp4:
      return Format::kNvfp4;
  }
  return Format::kBf16;
}

Work& Work::operator+=(const Work& o) {
  products += o.products;
  attention += o.attention;
  passes += o.passes;
  tensor += o.tensor;
  context += o.context;
  experts += o.experts;
  launches += o.launches;
  return *this;
}
Work operator*(double times, Work w) {
  w.products *= times;
  w.attention *= times;
  w.passes *= times;
  w.tensor *= times;
  w.context *= times;
  w.experts *= times;
  w.launches *= times;
  return w;
}

LayerTimes::LayerTimes(const ModelShape& model, const Plan& plan, const PlanMachine& machine, double sequence)
    : model_(model),
      plan_(plan),
      machine_(machine),
      sequence_(sequence),
      tokens_(plan.micro * sequence / plan.cp) {}

// Tensors are read by the product of their own pass and, the other way round, by that of a gradient:
// hand-written kernels write both at once, compiled ones go through the tensor for each.
double LayerTimes::Quantized(double values, bool gradient) const {
  const Format format = FormatOf(plan_.precision);
  if (format == Format::kBf16) return 0;
  const double stored = BytesOf(format);
  // The largest magnitude of a whole tensor is found before; kernels that write activations know it already.
  const bool whole = plan_.precision == Precision::kFp8 || plan_.precision == Precision::kNvfp4;
  double bytes = 2 + 2 * stored;
  if (plan_.kernels == Kernels::kFused) {
    if (whole && (gradient || format == Format::kNvfp4)) bytes += 2;
    if (format == Format::kNvfp4) bytes += 2;  // rotated copies
  } else {
    bytes = 2 * (4 + stored);
  }
  return PassSeconds(machine_.kernels, values * bytes);
}

void LayerTimes::AddMatrix(const Matrix& matrix, double tokens, Passed* passed) const {
  const double in = matrix.split == Split::kRows ? matrix.in / plan_.tp : matrix.in;
  const double out = matrix.split == Split::kColumns ? matrix.out / plan_.tp : matrix.out;
  if (in * out == 0) return;
  const Format format = FormatOf(plan_.precision);
  const KernelLaws& laws = machine_.kernels;
  const bool frozen = model_.lora_rank > 0;
  passed->forward.products += ProductSeconds(laws, format, tokens, out, in);
  passed->backward.products += ProductSeconds(laws, format, tokens, in, out);
  passed->forward.passes += Quantized(tokens * in, false);
  passed->backward.passes += Quantized(tokens * out, true);
  if (format != Format::kBf16) {
    AddLaunches(kQuantizers, &passed->forward);
    AddLaunches(kQuantizers, &passed->backward);
  }
  if (!frozen) {
    passed->backward.products += ProductSeconds(laws, format, out, in, tokens);
    // Gradients are added up over micro-batches by the product itself.
    if (plan_.kernels == Kernels::kFused) passed->backward.passes += PassSeconds(laws, 2 * in * out);
  }
  if (matrix.adapted && frozen) {
    const double r = model_.lora_rank;
    passed->forward.products += ProductSeconds(laws, Format::kBf16, tokens, r, in) +
                                ProductSeconds(laws, Format::kBf16, tokens, out, r);
    passed->backward.products += ProductSeconds(laws, Format::kBf16, tokens, r, out) +
                                 ProductSeconds(laws, Format::kBf16, tokens, in, r) +
                                 ProductSeconds(laws, Format::kBf16, r, in, tokens) +
                                 ProductSeconds(laws, Format::kBf16, out, r, tokens);
    passed->forward.passes += PassSeconds(laws, 6 * tokens * out);
    passed->backward.passes += PassSeconds(laws, 6 * tokens * in);
  }
}

void LayerTimes::AddAttention(Passed* passed) const {
  const double size = model_.kv_rank > 0 ? kLatentHead : model_.HeadSize();
  const double heads = model_.heads / plan_.tp, kv = std::max(1.0, model_.KvHeads() / plan_.tp);
  const double micro = plan_.micro;
  KernelLaws laws = machine_.kernels;
  if (plan_.attention == Attention::kUnfused) {
    const double scores = micro * heads * sequence_ * sequence_;
    const double products =
        2 * ProductSeconds(laws, Format::kBf16, sequence_, sequence_, size, micro * heads);
    passed->forward.attention += products + PassSeconds(laws, kScoreBytes * scores);
    passed->backward.attention += 2 * (products + PassSeconds(laws, kScoreBytes * scores));
    return;
  }
  const double backward = AttentionBackward(plan_.attention, &laws);
  const double whole = AttentionSeconds(laws, {micro, sequence_, sequence_, heads, kv, size, model_.causal});
  if (plan_.cp == 1) {
    passed->forward.attention += whole;
    passed->backward.attention += backward * whole;
    return;
  }
  // Round by round of a ring: a rank's own keys, then half of another's where later ones are not seen, and
  // the results are joined.
  laws.attention.start_s /= 2;
  const double part = sequence_ / plan_.cp;
  const double round =
      AttentionSeconds(laws, {micro, part, part / (model_.causal ? 2 : 1), heads, kv, size, false}) +
      PassSeconds(laws, kJoinBytes * tokens_ * heads * size);
  const double rounds = plan_.cp - 1;
  const double ring =
      AttentionSeconds(laws, {micro, part, part, heads, kv, size, model_.causal}) + rounds * round;
  const double bytes = 4 * tokens_ * kv * size;
  const double message = MessageSeconds(machine_.cluster, ContextStride(), bytes);
  const double ring_exchange = rounds * std::max(0.0, message - round);
  // Or every rank takes some heads of the whole sequence: queries, keys, values and results change places.
  const bool splits = std::fmod(kv, plan_.cp) == 0;
  const double by_heads = AttentionSeconds(
      laws, {micro, sequence_, sequence_, heads / plan_.cp, kv / plan_.cp, size, model_.causal});
  const double exchange =
      2 * AllToAllSeconds(machine_.cluster, {plan_.cp, plan_.tp}, 2 * tokens_ * (heads + kv) * size);
  if (splits && by_heads + exchange < ring + ring_exchange) {
    passed->forward.attention += by_heads;
    passed->backward.attention += backward * by_heads;
    passed->forward.context += exchange;
    passed->backward.context += exchange;
  } else {
    passed->forward.attention += ring;
    passed->backward.attention += backward * ring;
    passed->forward.context += ring_exchange;
    passed->backward.context += rounds * std::max(0.0, 2 * message - backward * round);
  }
}

// Neighbours of a ring lie this far apart; where a ring leaves its island the way between islands counts.
int LayerTimes::ContextStride() const {
  const int island = machine_.cluster.gpus_per_node;
  return plan_.tp * plan_.cp > island ? island : plan_.tp;
}

// Sums of all `tp` GPUs: whole on each, or each its tokens, and whole again before the next product.
double LayerTimes::JoinSeconds(double bytes) const {
  const Group group{plan_.tp, 1};
  if (!plan_.sp) return AllReduceSeconds(machine_.cluster, group, bytes);
  return ScatterSeconds(machine_.cluster, group, bytes, DataType::kBfloat16) +
         GatherSeconds(machine_.cluster, group, bytes);
}

void LayerTimes::AddPasses(double ffn_values, Passed* passed) const {
  const KernelPasses counts = PassesOf(plan_.kernels);
  const double hidden = tokens_ * model_.hidden / (plan_.sp ? plan_.tp : 1);
  const double rotated =
      model_.gated ? tokens_ * (model_.heads + model_.KvHeads()) * model_.HeadSize() / plan_.tp : 0;
  const auto seconds = [&](const PassBytes& bytes) {
    return PassSeconds(machine_.kernels, bytes.hidden * hidden + bytes.rotated * rotated +
                                             (model_.gated ? bytes.gated : bytes.plain) * ffn_values);
  };
  passed->forward.passes += seconds(counts.forward);
  passed->backward.passes += seconds(counts.backward);
  AddLaunches(counts.launches, &passed->forward);
  AddLaunches(2 * counts.launches, &passed->backward);
}

void LayerTimes::AddTensorExchanges(double times, Passed* passed) const {
  if (plan_.tp == 1) return;
  const double bytes = 2 * tokens_ * model_.hidden;
  const double all = times * JoinSeconds(bytes);
  const auto exposed = [&](double products) {
    if (!plan_.tp_overlap) return all;
    if (plan_.kernels == Kernels::kCompiled) return all / 2;
    return all / plan_.tp + std::max(0.0, all * (1 - 1.0 / plan_.tp) - products);
  };
  passed->forward.tensor += exposed(passed->forward.products);
  passed->backward.tensor += exposed(passed->backward.products / 2);
}

// There and back. Hand-written kernels send a token once to each GPU, others once for each of its experts.
double LayerTimes::ExpertExchange() const {
  const double tokens = tokens_ / (plan_.sp ? plan_.tp : 1), bytes = 2 * model_.hidden;
  if (plan_.kernels == Kernels::kFused) {
    using Way = TokenExchange::Way;
    const auto seconds = [&](Way way) {
      return ExchangeSeconds(machine_.cluster, plan_.ep,
                             {.way = way,
                              .tokens = tokens,
                              .token_bytes = bytes,
                              .experts = model_.experts,
                              .top_k = model_.top_k});
    };
    const auto there = seconds(Way::kDispatch), back = seconds(Way::kCombine);
    if (there && back) return *there + *back;
  }
  return 2 * AllToAllSeconds(machine_.cluster, {plan_.ep, 1}, tokens * model_.top_k * bytes);
}

void LayerTimes::AddExperts(Passed* passed) const {
  const double routed = tokens_ * model_.top_k / (plan_.sp ? plan_.tp : 1);
  // Experts of this GPU, each a product of its own with its share of the tokens.
  const double here = std::max(1.0, model_.experts / plan_.ep);
  const double rows = routed * 1.0 / here;
  ModelShape expert = model_;
  expert.lora_rank = 0;
  Passed one;
  for (Matrix matrix : FeedForwardMatrices(model_, model_.expert_ffn)) {
    matrix.split = Split::kWhole;
    AddMatrix(matrix, rows, &one);
  }
  one.forward.launches = one.backward.launches = 0;
  passed->forward += here * one.forward;
  passed->backward += here * one.backward;
  const double width = (model_.gated ? 6.0 : 4.0);
  passed->forward.passes +=
      PassSeconds(machine_.kernels, routed * (width * model_.expert_ffn + 16 * model_.hidden));
  passed->backward.passes +=
      PassSeconds(machine_.kernels, routed * (1.6 * width * model_.expert_ffn + 20 * model_.hidden));
  const double exchange = ExpertExchange();
  passed->forward.experts += exchange;
  passed->backward.experts += exchange;
  for (const Matrix& matrix : FeedForwardMatrices(model_, model_.shared_ffn))
    AddMatrix(matrix, tokens_, passed);
  passed->forward.launches += 30;
  passed->backward.launches += 40;
}

Passed LayerTimes::Layer(bool mixture) const {
  Passed passed;
  for (const Matrix& matrix : AttentionMatrices(model_)) AddMatrix(matrix, tokens_, &passed);
  AddAttention(&passed);
  if (mixture) {
    AddPasses(tokens_ * model_.shared_ffn / plan_.tp, &passed);
    AddExperts(&passed);
  } else {
    for (const Matrix& matrix : FeedForwardMatrices(model_, model_.ffn)) AddMatrix(matrix, tokens_, &passed);
    AddPasses(tokens_ * model_.ffn / plan_.tp, &passed);
  }
  AddTensorExchanges(mixture ? 1 : 2, &passed);
  if (plan_.recompute == Recompute::kFull) passed.again = passed.forward;
  if (plan_.recompute == Recompute::kSelective) {
    if (plan_.kernels == Kernels::kFused) {
      passed.again.attention = passed.forward.attention;
    } else {
      passed.again = passed.forward;
      passed.again.attention = passed.again.tensor = passed.again.context = passed.again.experts = 0;
      passed.again.products *= .5;
    }
  }
  return passed;
}

Passed LayerTimes::Embedding() const {
  Passed passed;
  const double bytes = tokens_ * model_.hidden * 2;
  passed.forward.passes = PassSeconds(machine_.kernels, 3 * bytes);
  passed.backward.passes = PassSeconds(machine_.kernels, 4 * bytes);
  passed.forward.launches = passed.backward.launches = 4;
  return passed;
}

Passed LayerTimes::Head() const {
  Passed passed;
  const double columns = std::ceil(model_.vocabulary / plan_.tp), h = model_.hidden;
  const KernelLaws& laws = machine_.kernels;
  passed.forward.products = ProductSeconds(laws, Format::kBf16, tokens_, columns, h);
  passed.backward.products = ProductSeconds(laws, Format::kBf16, tokens_, h, columns);
  if (model_.lora_rank == 0)
    passed.backward.products += ProductSeconds(laws, Format::kBf16, columns, h, tokens_);
  const double of_logit = plan_.loss == Loss::kFused ? kFusedLossBytes : PassesOf(plan_.kernels).logits;
  const double bytes = of_logit * tokens_ * columns;
  passed.forward.passes = PassSeconds(laws, bytes / 2);
  passed.backward.passes = PassSeconds(laws, bytes / 2);
  if (plan_.tp > 1) {
    passed.forward.tensor = passed.backward.tensor = JoinSeconds(2 * tokens_ * h) / 2;
  }
  passed.forward.launches = passed.backward.launches = 8;
  return passed;
}

}  // namespace lanescope::sims::plans
