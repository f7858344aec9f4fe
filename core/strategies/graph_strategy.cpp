// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/graph_strategy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/inputs/step_request.h"
#include "core/strategies/split_step.h"

namespace lanescope {
namespace {

constexpr std::array<GraphStrategy, 15> kGraphStrategies{{
    {"data-parallel", "writes a replica for each GPU: a part of the batch each, averaged gradients",
     &ReplicateOverBatch},
    {"fsdp", "the same, but of every variable a part on each GPU, gathered when it is read", &ShardOverBatch},
    {"expert-parallel", "the same as data-parallel, but of the experts of a mixture a part on each GPU",
     &ShareExperts},
    {"pipeline", "cuts the graph into a stage for each GPU and the batch into micro-batches: 1F1B",
     &WritePipeline1F1B},
    {"pipeline-gpipe", "the same, but all micro-batches forward before any backward", &WritePipelineGPipe},
    {"pipeline-interleaved", "as pipeline, but two parts of the model a stage, or -3 for three",
     &WritePipelineInterleaved},
    {"pipeline-zero-bubble", "as pipeline, but gradients of weights where a stage would wait: ZB-H1",
     &WritePipelineZeroBubble},
    {"recompute", "drops the activations of blocks and computes them again going backward", &RecomputeBlocks},
    {"recompute-selective", "the same, but products and attention are kept", &RecomputeSelectively},
    {"tensor-parallel",
     "of every matrix a part on each GPU, of the batch all: products by columns, then rows",
     &SplitOverMatrices},
    {"sequence-parallel", "the same, but activations between the matrices in parts along the tokens",
     &SplitOverMatricesAndTokens},
    {"context-parallel", "of every sequence a part on each GPU; attention gathers keys and values",
     &SplitOverTokens},
    {"ring-attention", "the same, but keys and values go round the GPUs while attention works on them",
     &SplitOverTokensInRing},
    {"zero1", "data-parallel with whole parameters on each GPU, but of the optimizer's state a part",
     &ShardOptimizer},
    {"zero2", "the same, and gradients in parts as soon as those of a block are there", &ShardGradients},
}};

constexpr std::string_view kReplicas = "data-parallel", kShards = "fsdp", kStages = "pipeline",
                           kExperts = "expert-parallel", kPartsOfStages = "pipeline-interleaved-",
                           kAgain = "recompute";
constexpr std::array kSplits{SplitBy::kMatrices, SplitBy::kMatricesAndTokens, SplitBy::kTokens,
                             SplitBy::kTokensInRing};

// It writes the parts of what GPUs share itself, so that those at one place of the replicas share them
// further.
bool IsSharded(std::string_view name) { return name == kShards || name.starts_with("zero"); }

const GraphStrategy* Find(std::string_view name) {
  const auto* found = std::ranges::find(kGraphStrategies, name, &GraphStrategy::name);
  return found == kGraphStrategies.end() ? nullptr : found;
}

[[noreturn]] void RefuseProduct(std::string_view text) {
  Throw(
      Code::kInvalidArgument,
      "'{}' is no strategy: give a name, or a product: data-parallel+tensor-parallel:2, fsdp, zero1, zero2 "
      "or pipeline in place of data-parallel, sequence-parallel, context-parallel or ring-attention in place "
      "of tensor-parallel, context-parallel:2+tensor-parallel:2 for both; data-parallel+pipeline:2 or "
      "data-parallel+fsdp:2, also with +tensor-parallel:2; "
      "data-parallel+expert-parallel:2; each may follow recompute+ or recompute-selective+",
      text);
}

// "pipeline:4": 4 GPUs together.
struct Factor {
  std::string_view name;
  int gpus = 0;   // 0: it is not said
  int parts = 0;  // of a stage; 0: it is not said
};

// A whole number from 1, without leading zeros.
std::optional<int> CountOf(std::string_view text) {
  int count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool whole = error == std::errc() && stop == text.data() + text.size();
  return whole && count >= 1 && text[0] != '0' ? std::optional(count) : std::nullopt;
}

// Takes "pipeline-interleaved-3" apart into the name and the parts.
void TakeParts(std::string_view text, Factor* factor) {
  if (!factor->name.starts_with(kPartsOfStages)) return;
  const std::optional<int> parts = CountOf(factor->name.substr(kPartsOfStages.size()));
  if (!parts.has_value() || *parts < 2) {
    Throw(Code::kInvalidArgument, "'{}': a stage of an interleaved pipeline has two parts or more, as in {}3",
          text, kPartsOfStages);
  }
  factor->parts = *parts;
  factor->name = kPartsOfStages.substr(0, kPartsOfStages.size() - 1);
}

std::vector<Factor> FactorsOf(std::string_view text) {
  std::vector<Factor> factors;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('+', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const size_t colon = std::min(part.find(':'), part.size());
    Factor factor{.name = part.substr(0, colon)};
    if (colon < part.size()) {
      const std::optional<int> gpus = CountOf(part.substr(colon + 1));
      if (!gpus.has_value()) RefuseProduct(text);
      factor.gpus = *gpus;
    }
    TakeParts(text, &factor);
    if (Find(factor.name) == nullptr || (factor.gpus > 0) != (begin > 0)) RefuseProduct(text);
    factors.push_back(factor);
    begin = end + 1;
  }
  return factors;
}

void CheckGroups(const Factor& factor, int gpus) {
  if (factor.gpus > 1 && gpus % factor.gpus == 0 && gpus > factor.gpus) return;
  int nearest = 0;
  for (int size = 2; 2 * size <= gpus; ++size) {
    if (gpus % size == 0 && (nearest == 0 || std::abs(size - factor.gpus) < std::abs(nearest - factor.gpus)))
      nearest = size;
  }
  Throw(Code::kInvalidArgument, "{}:{} wants several groups of {} GPUs, and {} are left to it{}", factor.name,
        factor.gpus, factor.gpus, gpus,
        nearest == 0 ? std::string() : fmt::format("; the nearest size that divides them is {}", nearest));
}

std::optional<SplitBy> SplitOf(const Factor& factor) {
  const auto* split = std::ranges::find(kSplits, factor.name, &StrategyOf);
  return split == kSplits.end() ? std::nullopt : std::optional(*split);
}

// Takes the last factors away by which GPUs share what is written for one, and notes them: all, where tokens
// and matrices are the only ones.
void TakeSharing(std::vector<Factor>* factors, RewriteInput* input) {
  int left = static_cast<int>(input->gpus.size());
  const auto take = [&](int count) {
    input->sharing.insert(input->sharing.begin(), {*SplitOf(factors->back()), count});
    input->sharers *= count;
    left /= count;
    factors->pop_back();
  };
  if (factors->size() < 2 || !SplitOf(factors->back())) return;
  CheckGroups(factors->back(), left);
  take(factors->back().gpus);
  const std::optional<SplitBy> outer = SplitOf(factors->back());
  if (IsByTokens(input->sharing[0].by) || !outer || !IsByTokens(*outer)) return;
  if (factors->size() > 1) {
    CheckGroups(factors->back(), left);
    take(factors->back().gpus);
  } else {
    take(left);
  }
}

}  // namespace

std::span<const GraphStrategy> GraphStrategies() { return kGraphStrategies; }

bool IsGraphStrategy(std::string_view text) {
  return text.starts_with(kPartsOfStages) || Find(text.substr(0, text.find_first_of("+:"))) != nullptr;
}

StepGraph RewriteByStrategy(std::string_view text, const RewriteInput& input) {
  if (const size_t end = text.find('+'); text.starts_with(kAgain) && end != std::string_view::npos) {
    const GraphStrategy* first = Find(text.substr(0, end));
    if (first == nullptr) RefuseProduct(text);
    const StepGraph again = first->rewrite(input);
    const GraphInfo info = InferGraph(again.graph, StepRequestOf(again.graph, again.spec).feeds);
    return RewriteByStrategy(text.substr(end + 1),
                             {again.graph, again.spec, info, input.machine, input.costs, input.gpus});
  }
  std::vector<Factor> factors = FactorsOf(text);
  RewriteInput outer = input;
  for (const Factor& factor : factors) {
    if (factor.parts > 0) outer.stage_parts = factor.parts;
  }
  TakeSharing(&factors, &outer);
  if (factors.empty()) return SplitInGroups(outer, {input.graph, input.spec});
  const bool shares = outer.sharers > 1;
  const std::string_view first = factors[0].name, last = factors.back().name;
  const bool is_known =
      factors.size() == 1   ? !shares || first == kReplicas || first.starts_with(kStages) || IsSharded(first)
      : factors.size() == 2 ? first == kReplicas && (last.starts_with(kStages) || last == kShards ||
                                                     (last == kExperts && !shares))
                            : false;
  if (!is_known) RefuseProduct(text);
  if (factors.size() == 2) {
    const int wide = static_cast<int>(input.gpus.size()) / outer.sharers;
    CheckGroups(factors[1], wide);
    outer.groups = wide / factors[1].gpus;
  }
  if (!shares || IsSharded(last)) return Find(last)->rewrite(outer);
  outer.gpus.clear();
  for (size_t i = 0; i < input.gpus.size(); i += static_cast<size_t>(outer.sharers))
    outer.gpus.push_back(input.gpus[i]);
  const StepGraph step = Find(last)->rewrite(outer);
  outer.gpus = input.gpus;
  return SplitInGroups(outer, step);
}

}  // namespace lanescope
