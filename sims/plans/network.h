// SPDX-License-Identifier: Apache-2.0
// How long collectives of a plan take, by the laws of core/machine.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/dtype.h"
#include "core/machine/cluster.h"

namespace lanescope::sims::plans {

// Ranks that work together: `size` of them, `stride` GPUs apart.
struct Group {
  int size = 1, stride = 1;
};

// `bytes` is the whole tensor: what everybody has after a gather or before a scatter.
double GatherSeconds(const Cluster& cluster, const Group& group, double bytes);
// The sum of the ranks' tensors, each rank a part.
double ScatterSeconds(const Cluster& cluster, const Group& group, double bytes, DataType dtype);
double AllReduceSeconds(const Cluster& cluster, const Group& group, double bytes);
// `bytes` is what one GPU sends to all, its own part included.
double AllToAllSeconds(const Cluster& cluster, const Group& group, double bytes);
// Tokens on their way to the GPUs of their experts, or their results on the way back. Routing is near
// balance.
struct TokenExchange {
  enum class Way : uint8_t { kDispatch, kCombine };
  Way way = Way::kDispatch;
  double tokens = 0;  // of each GPU
  double token_bytes = 0;
  double experts = 0, top_k = 1;
  double multiprocessors = 24;  // that the exchange takes of a GPU
};
// Among `ranks` GPUs that follow each other, by kernels that send a token once to each GPU that has experts
// of it (DeepEP): a law of measured ones; none for a fabric of which nothing was measured.
std::optional<double> ExchangeSeconds(const Cluster& cluster, int ranks, const TokenExchange& exchange);
// From a GPU to one `stride` away.
double MessageSeconds(const Cluster& cluster, int stride, double bytes);

}  // namespace lanescope::sims::plans
