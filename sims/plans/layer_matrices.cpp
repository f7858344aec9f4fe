// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/layer_matrices.h"

#include <optional>
#include <set>
#include <utility>

#include "core/base/error.h"

namespace lanescope::sims::plans {
namespace {

using Sizes = std::multiset<int64_t>;

// Takes the sizes out where all are there.
bool Take(Sizes* from, const Sizes& sizes) {
  Sizes rest = *from;
  for (const int64_t size : sizes) {
    const auto found = rest.find(size);
    if (found == rest.end()) return false;
    rest.erase(found);
  }
  *from = std::move(rest);
  return true;
}

struct Network {
  int64_t width = 0;
  bool gated = false;
};

std::optional<Network> NetworkOf(const Sizes& sizes) {
  if (sizes.size() < 2 || sizes.size() > 3) return std::nullopt;
  const int64_t least = *sizes.begin(), most = *sizes.rbegin();
  if (least == most) return Network{least, sizes.size() == 3};
  if (sizes.size() == 2 && most == 2 * least) return Network{least, true};
  return std::nullopt;
}

// The experts' part of a layer, from their stacks.
LayerSizes SizesOfExperts(const std::vector<const NamedMatrix*>& stacks, int64_t hidden) {
  Sizes sizes;
  for (const NamedMatrix* stack : stacks) {
    if (stack->experts != stacks[0]->experts)
      Throw(Code::kInvalidArgument, "'{}' has {} experts and '{}' {}", stacks[0]->name, stacks[0]->experts,
            stack->name, stack->experts);
    sizes.insert(stack->Beside(hidden));
  }
  const std::optional<Network> network = NetworkOf(sizes);
  if (!network)
    Throw(Code::kInvalidArgument, "'{}' and the other matrices of its experts are no feed-forward networks",
          stacks[0]->name);
  return {.kv_heads = 0,
          .ffn = 0,
          .experts = stacks[0]->experts,
          .expert_ffn = network->width,
          .gated = network->gated};
}

// False: the matrices beside attention are others than these.
bool TakeNetwork(Sizes rest, LayerSizes* layer) {
  if (layer->experts > 0) {
    if (!Take(&rest, {layer->experts})) return false;
    if (rest.empty()) return true;
    if (!NetworkOf(rest) && !Take(&rest, {1})) return false;
  }
  const std::optional<Network> network = NetworkOf(rest);
  if (!network || (layer->experts > 0 && network->gated != layer->gated)) return false;
  layer->ffn = network->width;
  layer->gated = network->gated;
  return true;
}

}  // namespace

LayerSizes SizesOfLayer(const std::vector<NamedMatrix>& matrices, int64_t hidden,
                        const AttentionHeads& heads) {
  Sizes sizes;
  std::vector<const NamedMatrix*> stacks;
  for (const NamedMatrix& matrix : matrices) {
    if (matrix.Beside(hidden) == 0)
      Throw(Code::kInvalidArgument, "'{}' has no side of {}", matrix.name, hidden);
    if (matrix.experts > 0)
      stacks.push_back(&matrix);
    else
      sizes.insert(matrix.Beside(hidden));
  }
  LayerSizes layer = stacks.empty() ? LayerSizes() : SizesOfExperts(stacks, hidden);
  const int64_t all = heads.count * heads.size;
  for (int64_t kv = heads.count; kv >= 1; --kv) {
    if (heads.count % kv != 0) continue;
    const int64_t own = kv * heads.size;
    // Both are tried to the end: a network's matrix may be as wide as one of queries, keys and values.
    for (const Sizes& attention : {Sizes{all + 2 * own, all}, Sizes{all, own, own, all}}) {
      Sizes rest = sizes;
      if (!Take(&rest, attention) || !TakeNetwork(std::move(rest), &layer)) continue;
      layer.kv_heads = kv;
      return layer;
    }
  }
  if (layer.experts > 0)
    Throw(Code::kInvalidArgument,
          "the matrices of a layer beside its {} experts are not those of attention with {} heads, a router "
          "and perhaps a feed-forward network",
          layer.experts, heads.count);
  Throw(Code::kInvalidArgument,
        "the matrices of a layer are not those of attention with {} heads and a feed-forward network",
        heads.count);
}

}  // namespace lanescope::sims::plans
