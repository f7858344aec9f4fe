// SPDX-License-Identifier: Apache-2.0
// GPUs that have a model together share its matrices, its tokens, or both.
#pragma once

#include <cstdint>
#include <string_view>

namespace lanescope {

enum class SplitBy : uint8_t {
  kMatrices,           // and the whole batch on every GPU
  kMatricesAndTokens,  // activations between the matrices in parts along the tokens
  kTokens,             // and the whole model on every GPU
  kTokensInRing,       // the same, but keys and values go round
};

constexpr bool IsByTokens(SplitBy by) { return by == SplitBy::kTokens || by == SplitBy::kTokensInRing; }

// GPUs, or groups of them, that share a model.
struct Sharing {
  SplitBy by = SplitBy::kMatrices;
  int count = 1;
};

// The strategy, as errors and added nodes name it.
constexpr std::string_view StrategyOf(SplitBy by) {
  switch (by) {
    case SplitBy::kMatrices:
      return "tensor-parallel";
    case SplitBy::kMatricesAndTokens:
      return "sequence-parallel";
    case SplitBy::kTokensInRing:
      return "ring-attention";
    case SplitBy::kTokens:
      break;
  }
  return "context-parallel";
}

}  // namespace lanescope
