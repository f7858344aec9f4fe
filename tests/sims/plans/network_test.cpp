// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/network.h"

#include <gtest/gtest.h>

#include "core/machine/named_cluster.h"

namespace lanescope::sims::plans {
namespace {

using Way = TokenExchange::Way;

// A token of 7,168 values in fp8, with a scale for each 128; eight of 256 experts take it.
TokenExchange Dispatch(double tokens, double multiprocessors) {
  return {.way = Way::kDispatch,
          .tokens = tokens,
          .token_bytes = 7168 + 4 * 7168 / 128,
          .experts = 256,
          .top_k = 8,
          .multiprocessors = multiprocessors};
}

// Law: times of DeepEP on H100 (SGLang's tables of 0.5.12 and 0.5.6) come out within 15%, on one node and on
// four.
TEST(ExchangeTest, MeasuredTimes) {
  const Cluster node = ClusterOf("dgx-h100:8").cluster, nodes = ClusterOf("dgx-h100:32").cluster;
  const auto us = [](const Cluster& cluster, const TokenExchange& exchange) {
    return *ExchangeSeconds(cluster, cluster.num_gpus(), exchange) * 1e6;
  };
  EXPECT_NEAR(us(node, Dispatch(1, 24)) / 26.2, 1, .15);
  EXPECT_NEAR(us(node, Dispatch(2048, 24)) / 270, 1, .15);
  EXPECT_NEAR(us(node, Dispatch(2048, 8)) / 574, 1, .15);
  TokenExchange combine = Dispatch(8192, 24);
  combine.way = Way::kCombine;
  combine.token_bytes = 2 * 7168;
  EXPECT_NEAR(us(node, combine) / 1839, 1, .15);
  EXPECT_NEAR(us(nodes, Dispatch(4096, 24)) / 1791, 1, .15);
  EXPECT_NEAR(us(nodes, combine) / 6881, 1, .15);
}

// Law: a token is sent once to a GPU, however many of its experts are there: with all experts on two GPUs, as
// many experts a token as there are cost no more than enough to reach both.
TEST(ExchangeTest, TokensAreSentOnceToAGpu) {
  const Cluster node = ClusterOf("dgx-h100:8").cluster;
  const auto seconds = [&](double top_k) {
    TokenExchange exchange = Dispatch(4096, 24);
    exchange.experts = 8;
    exchange.top_k = top_k;
    return *ExchangeSeconds(node, 2, exchange);
  };
  EXPECT_LT(seconds(1), seconds(2));
  EXPECT_DOUBLE_EQ(seconds(5), seconds(8));
}

// Law: nothing is exchanged with oneself, and of a fabric without measurements nothing is said.
TEST(ExchangeTest, NothingToSay) {
  EXPECT_EQ(ExchangeSeconds(ClusterOf("dgx-h100:8").cluster, 1, Dispatch(4096, 24)), 0);
  EXPECT_FALSE(ExchangeSeconds(ClusterOf("dgx-a100:8").cluster, 8, Dispatch(4096, 24)));
}

}  // namespace
}  // namespace lanescope::sims::plans
