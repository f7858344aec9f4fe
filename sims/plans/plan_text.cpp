// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "sims/plans/nearest.h"
#include "sims/plans/plan.h"

namespace lanescope::sims::plans {
namespace {

template <typename T, size_t N>
using Names = std::array<std::pair<std::string_view, T>, N>;

constexpr Names<Sharding, 6> kShardings = {{{"none", Sharding::kNone},
                                            {"zero1", Sharding::kZero1},
                                            {"zero2", Sharding::kZero2},
                                            {"zero3", Sharding::kZero3},
                                            {"fsdp2", Sharding::kFsdp2},
                                            {"hsdp", Sharding::kHsdp}}};
constexpr Names<Recompute, 3> kRecomputes = {
    {{"none", Recompute::kNone}, {"selective", Recompute::kSelective}, {"full", Recompute::kFull}}};
constexpr Names<Precision, kNumPrecisions> kPrecisions = {{{"bf16", Precision::kBf16},
                                                           {"pure-bf16", Precision::kPureBf16},
                                                           {"fp8", Precision::kFp8},
                                                           {"fp8-row", Precision::kFp8Row},
                                                           {"fp8-block", Precision::kFp8Block},
                                                           {"mxfp8", Precision::kMxfp8},
                                                           {"nvfp4", Precision::kNvfp4}}};
constexpr Names<Kernels, 3> kKernels = {
    {{"eager", Kernels::kEager}, {"compiled", Kernels::kCompiled}, {"fused", Kernels::kFused}}};
constexpr Names<Attention, 5> kAttentions = {{{"best", Attention::kBest},
                                              {"unfused", Attention::kUnfused},
                                              {"flash1", Attention::kFlash1},
                                              {"flash2", Attention::kFlash2},
                                              {"fp8", Attention::kFp8}}};
constexpr Names<Loss, 2> kLosses = {{{"plain", Loss::kPlain}, {"fused", Loss::kFused}}};
// Every key of a plan; the last three stand alone.
constexpr std::array<std::string_view, 17> kKeys = {
    "dp",        "tp",        "pp",      "cp",        "ep",   "vpp", "micro",  "shard",     "shard-size",
    "recompute", "precision", "kernels", "attention", "loss", "sp",  "graphs", "tp-overlap"};

template <typename T, size_t N>
T ValueOf(std::string_view key, std::string_view text, const Names<T, N>& names) {
  std::array<std::string_view, N> known;
  for (size_t i = 0; i < N; ++i) {
    if (names[i].first == text) return names[i].second;
    known[i] = names[i].first;
  }
  Throw(Code::kInvalidArgument, "{}={}: there is no such value{}; there are {}", key, Printable(text),
        DidYouMean(text, known), fmt::join(known, ", "));
}

template <typename T, size_t N>
std::string_view NameOf(T value, const Names<T, N>& names) {
  for (const auto& [name, other] : names) {
    if (other == value) return name;
  }
  return "";
}

int NumberOf(std::string_view key, std::string_view text) {
  constexpr int kMost = 1'000'000;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > kMost)
    Throw(Code::kInvalidArgument, "{}={}: a whole number from 1 to {} stands there", key, Printable(text),
          kMost);
  return number;
}

// Keys that could have been meant.
std::string OfKeys(std::string_view key) {
  return fmt::format("{}; keys are {}", DidYouMean(key, kKeys), fmt::join(kKeys, ", "));
}

// Without blanks around it.
std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

void SetFlag(std::string_view key, Plan* plan) {
  if (key == "sp") {
    plan->sp = true;
  } else if (key == "graphs") {
    plan->graphs = true;
  } else if (key == "tp-overlap") {
    plan->tp_overlap = true;
  } else {
    Throw(Code::kInvalidArgument, "a plan is KEY=VALUE with commas between, and '{}' has no value{}",
          Printable(key), std::ranges::count(kKeys, key) > 0 ? "" : OfKeys(key));
  }
}

void SetValue(std::string_view key, std::string_view value, Plan* plan) {
  for (const auto& [name, number] : {std::pair<std::string_view, int*>{"dp", &plan->dp},
                                     {"tp", &plan->tp},
                                     {"pp", &plan->pp},
                                     {"cp", &plan->cp},
                                     {"ep", &plan->ep},
                                     {"vpp", &plan->vpp},
                                     {"micro", &plan->micro},
                                     {"shard-size", &plan->shard_size}}) {
    if (key != name) continue;
    *number = NumberOf(key, value);
    return;
  }
  if (key == "shard") {
    plan->shard = ValueOf(key, value, kShardings);
  } else if (key == "recompute") {
    plan->recompute = ValueOf(key, value, kRecomputes);
  } else if (key == "precision") {
    plan->precision = ValueOf(key, value, kPrecisions);
  } else if (key == "kernels") {
    plan->kernels = ValueOf(key, value, kKernels);
  } else if (key == "attention") {
    plan->attention = ValueOf(key, value, kAttentions);
  } else if (key == "loss") {
    plan->loss = ValueOf(key, value, kLosses);
  } else if (std::ranges::find(kKeys, key) != kKeys.end()) {
    Throw(Code::kInvalidArgument, "{} stands alone in a plan, without a value", key);
  } else {
    Throw(Code::kInvalidArgument, "a plan has no '{}'{}", Printable(key), OfKeys(key));
  }
}

}  // namespace

std::string_view PrecisionName(Precision precision) { return NameOf(precision, kPrecisions); }
std::string_view ShardingName(Sharding sharding) { return NameOf(sharding, kShardings); }
std::string_view RecomputeName(Recompute recompute) { return NameOf(recompute, kRecomputes); }

Plan ParsePlan(std::string_view text) {
  Plan plan;
  std::vector<std::string_view> seen;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view part = Trimmed(text.substr(0, comma));
    if (part.empty())
      Throw(Code::kInvalidArgument, "a plan is KEY=VALUE with commas between, and nothing stands {}",
            comma == std::string_view::npos ? "at its end" : "before a comma");
    const size_t equals = part.find('=');
    const std::string_view key = Trimmed(part.substr(0, equals));
    for (const std::string_view other : seen) {
      if (other == key) Throw(Code::kInvalidArgument, "a plan says {} twice", Printable(key));
    }
    seen.push_back(key);
    if (equals == std::string_view::npos) {
      SetFlag(key, &plan);
    } else {
      SetValue(key, Trimmed(part.substr(equals + 1)), &plan);
    }
    if (comma == std::string_view::npos) return plan;
    text.remove_prefix(comma + 1);
  }
}

std::string PlanText(const Plan& plan) {
  const Plan usual;
  std::string text = fmt::format("dp={}", plan.dp);
  for (const auto& [key, number] : {std::pair<const char*, int>{"tp", plan.tp},
                                    {"pp", plan.pp},
                                    {"cp", plan.cp},
                                    {"ep", plan.ep},
                                    {"vpp", plan.vpp}}) {
    if (number != 1) text += fmt::format(",{}={}", key, number);
  }
  if (plan.shard != usual.shard) text += fmt::format(",shard={}", NameOf(plan.shard, kShardings));
  if (plan.shard_size > 0) text += fmt::format(",shard-size={}", plan.shard_size);
  if (plan.recompute != usual.recompute)
    text += fmt::format(",recompute={}", NameOf(plan.recompute, kRecomputes));
  text += fmt::format(",micro={}", plan.micro);
  if (plan.sp) text += ",sp";
  if (plan.precision != usual.precision)
    text += fmt::format(",precision={}", NameOf(plan.precision, kPrecisions));
  if (plan.kernels != usual.kernels) text += fmt::format(",kernels={}", NameOf(plan.kernels, kKernels));
  if (plan.attention != usual.attention)
    text += fmt::format(",attention={}", NameOf(plan.attention, kAttentions));
  if (plan.loss != usual.loss) text += fmt::format(",loss={}", NameOf(plan.loss, kLosses));
  if (plan.graphs) text += ",graphs";
  if (plan.tp_overlap) text += ",tp-overlap";
  return text;
}

}  // namespace lanescope::sims::plans
