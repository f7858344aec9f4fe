// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/graph_strategy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/strategies/split_step.h"

namespace lanescope {
namespace {

constexpr std::array<GraphStrategy, 8> kGraphStrategies{{
    {"data-parallel", "writes a replica for each GPU: a part of the batch each, averaged gradients",
     &ReplicateOverBatch},
    {"fsdp", "the same, but of every variable a part on each GPU, gathered when it is read", &ShardOverBatch},
    {"expert-parallel", "the same as data-parallel, but of the experts of a mixture a part on each GPU",
     &ShareExperts},
    {"pipeline", "cuts the graph into a stage for each GPU and the batch into micro-batches: 1F1B",
     &WritePipeline1F1B},
    {"pipeline-gpipe", "the same, but all micro-batches forward before any backward", &WritePipelineGPipe},
    {"tensor-parallel",
     "of every matrix a part on each GPU, of the batch all: products by columns, then rows",
     &SplitOverMatrices},
    {"zero1", "data-parallel with whole parameters on each GPU, but of the optimizer's state a part",
     &ShardOptimizer},
    {"zero2", "the same, and gradients in parts as soon as those of a block are there", &ShardGradients},
}};

constexpr std::string_view kReplicas = "data-parallel", kShards = "fsdp", kMatrices = "tensor-parallel",
                           kStages = "pipeline", kExperts = "expert-parallel";

// It writes the parts of shared matrices itself, so that GPUs at one place of the replicas share them
// further.
bool IsSharded(std::string_view name) { return name == kShards || name.starts_with("zero"); }

const GraphStrategy* Find(std::string_view name) {
  const auto* found = std::ranges::find(kGraphStrategies, name, &GraphStrategy::name);
  return found == kGraphStrategies.end() ? nullptr : found;
}

[[noreturn]] void RefuseProduct(std::string_view text) {
  Throw(Code::kInvalidArgument,
        "'{}' is no strategy: give a name, or a product: data-parallel+tensor-parallel:2, fsdp, zero1, zero2 "
        "or pipeline in its place, data-parallel+pipeline:2 or data-parallel+fsdp:2, also with "
        "+tensor-parallel:2, or data-parallel+expert-parallel:2",
        text);
}

// "pipeline:4": 4 GPUs together.
struct Factor {
  std::string_view name;
  int gpus = 0;  // 0: it is not said
};
std::vector<Factor> FactorsOf(std::string_view text) {
  std::vector<Factor> factors;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('+', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const size_t colon = std::min(part.find(':'), part.size());
    Factor factor{.name = part.substr(0, colon)};
    if (colon < part.size()) {
      const char* last = part.data() + part.size();
      const auto [stop, error] = std::from_chars(part.data() + colon + 1, last, factor.gpus);
      const bool is_plain = error == std::errc() && stop == last && part[colon + 1] != '0';
      if (!is_plain || factor.gpus < 1) RefuseProduct(text);
    }
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

}  // namespace

std::span<const GraphStrategy> GraphStrategies() { return kGraphStrategies; }

bool IsGraphStrategy(std::string_view text) {
  return Find(text.substr(0, text.find_first_of("+:"))) != nullptr;
}

StepGraph RewriteByStrategy(std::string_view text, const RewriteInput& input) {
  std::vector<Factor> factors = FactorsOf(text);
  const Factor matrices = factors.back();
  const bool shares = factors.size() > 1 && matrices.name == kMatrices;
  RewriteInput outer = input;
  if (shares) {
    CheckGroups(matrices, static_cast<int>(input.gpus.size()));
    factors.pop_back();
    outer.sharers = matrices.gpus;
  }
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
  for (size_t i = 0; i < input.gpus.size(); i += static_cast<size_t>(matrices.gpus))
    outer.gpus.push_back(input.gpus[i]);
  return SplitInGroups(input, Find(last)->rewrite(outer), matrices.gpus);
}

}  // namespace lanescope
