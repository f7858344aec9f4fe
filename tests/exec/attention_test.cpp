// SPDX-License-Identifier: Apache-2.0
// Law: attention as one command, forward and backward, gives what its nodes give one by one: bit by bit where
// sums go over whole rows, else within rounding (docs/reference/fusion.md).
#include <gtest/gtest.h>

#include <cmath>

#include "core/schedule/fusion.h"
#include "core/schedule/row_products.h"
#include "tests/exec/attention_graph.h"
#include "tests/exec/session_harness.h"

namespace lanescope::exec::test {
namespace {

struct Ran {
  std::vector<Tensor> fetches;
  std::shared_ptr<const Schedule> schedule;
};

Ran RunStep(const Attention& attention, bool fuse, int workers = 2, int64_t memory = 0) {
  Machine machine = FastMachine(1, workers);
  if (memory > 0) machine.devices[Gpu(machine, 0)].memory_bytes = memory;
  const Graph& graph = attention.builder.graph();
  SessionOptions options;
  options.fuse = fuse;
  const Placement placement = PlaceAll(graph, Gpu(machine, 0));
  Session session(graph, placement, machine, options);
  const RunRequest request{MakeFeeds(attention.spec, 0), attention.spec.fetches, {}};
  Ran ran{session.Run(request).fetches, session.Prepare(request).schedule};
  VerifySchedule(graph, *ran.schedule);
  return ran;
}

int LaunchesWithProducts(const Graph& graph, const Schedule& schedule) {
  int count = 0;
  for (const FusedLaunch& launch : schedule.fused) count += MatricesOfLaunch(graph, launch.nodes).has_value();
  return count;
}

// Largest difference, in parts of the largest element.
double Difference(const Tensor& a, const Tensor& b) {
  double most = 0, difference = 0;
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    const double x = a.dtype() == DataType::kFloat ? a.data<float>()[i] : a.data<double>()[i];
    const double y = b.dtype() == DataType::kFloat ? b.data<float>()[i] : b.data<double>()[i];
    if (std::isnan(x) || std::isnan(y)) return INFINITY;
    most = std::max(most, std::abs(x));
    difference = std::max(difference, std::abs(x - y));
  }
  return most > 0 ? difference / most : difference;
}

// Many small matrices in a block, one that is a block, parts of one of even and of odd height, more keys than
// queries, results of few columns and of one.
constexpr AttentionSizes kSizes[] = {{2, 3, 5, 7, 4, 6},       {3, 4, 32, 32, 16, 16},
                                     {2, 2, 256, 256, 64, 64}, {1, 2, 300, 200, 24, 40},
                                     {1, 1, 97, 1030, 33, 20}, {2, 1, 700, 90, 20, 1}};

TEST(Attention, ForwardIsOneCommand) {
  for (const AttentionSizes& sizes : kSizes) {
    for (const bool of_torch : {true, false}) {
      Attention attention(sizes);
      of_torch ? attention.OfTorch(false) : attention.OfTensorFlow(false);
      const Graph& graph = attention.builder.graph();
      const Ran apart = RunStep(attention, false), together = RunStep(attention, true);
      EXPECT_EQ(LaunchesWithProducts(graph, *together.schedule), 1) << sizes.queries;
      EXPECT_LE(Difference(apart.fetches[0], together.fetches[0]), 1e-6) << sizes.queries;
      // Results of few columns are OpenBLAS's.
      EXPECT_TRUE(sizes.width <= 16 || BitwiseEqual(apart.fetches[0], together.fetches[0])) << sizes.queries;
    }
  }
}

// With the forward pass it is one where nothing lies between them.
TEST(Attention, BackwardIsOneCommand) {
  for (const AttentionSizes& sizes : kSizes) {
    for (const DataType dtype : {DataType::kFloat, DataType::kDouble}) {
      for (int form = 0; form < 4; ++form) {
        Attention attention(sizes, dtype);
        attention.waits = form < 2;
        form % 2 == 0 ? attention.OfTorch(true) : attention.OfTensorFlow(true);
        const Graph& graph = attention.builder.graph();
        const Ran apart = RunStep(attention, false), together = RunStep(attention, true);
        EXPECT_EQ(LaunchesWithProducts(graph, *together.schedule), form < 2 ? 2 : 1) << sizes.queries;
        for (size_t i = 0; i < apart.fetches.size(); ++i) {
          EXPECT_LE(Difference(apart.fetches[i], together.fetches[i]),
                    dtype == DataType::kFloat ? 2e-6 : 1e-14)
              << attention.spec.fetches[i] << " of " << sizes.queries;
        }
      }
    }
  }
}

// Where memory is short the backward launch computes the probabilities again, with the same results.
TEST(Attention, ProbabilitiesComputedAgainAreTheSame) {
  for (const bool of_torch : {true, false}) {
    Attention attention({2, 2, 256, 256, 24, 40});
    of_torch ? attention.OfTorch(true) : attention.OfTensorFlow(true);
    const Ran kept = RunStep(attention, true), again = RunStep(attention, true, 2, 4'000'000);
    const auto nodes = [](const Ran& ran) {
      size_t count = 0;
      for (const FusedLaunch& launch : ran.schedule->fused) count += launch.nodes.size();
      return count;
    };
    EXPECT_GT(nodes(again), nodes(kept));
    EXPECT_EQ(LaunchesWithProducts(attention.builder.graph(), *again.schedule), 2);
    for (size_t i = 0; i < kept.fetches.size(); ++i)
      EXPECT_LE(Difference(kept.fetches[i], again.fetches[i]), 2e-6) << attention.spec.fetches[i];
  }
}

// One thread or four: the same bits.
TEST(Attention, ResultsDoNotDependOnWorkers) {
  Attention attention({1, 2, 300, 500, 24, 40});
  attention.OfTensorFlow(true);
  const Ran alone = RunStep(attention, true, 1), shared = RunStep(attention, true, 4);
  for (size_t i = 0; i < alone.fetches.size(); ++i)
    EXPECT_TRUE(BitwiseEqual(alone.fetches[i], shared.fetches[i])) << attention.spec.fetches[i];
}

// Results with rows for columns: V^T P^T.
TEST(Attention, ATurnedResultIsMadeColumnByColumn) {
  for (const AttentionSizes& sizes : kSizes) {
    Attention attention(sizes);
    const Endpoint q = attention.Feed("q", attention.Heads(sizes.queries, sizes.depth));
    const Endpoint k = attention.Feed("k", attention.Heads(sizes.keys, sizes.depth));
    const Endpoint v = attention.Feed("v", attention.Heads(sizes.width, sizes.keys));
    const Endpoint soft =
        attention.Op("Softmax", "softmax", {attention.Product("scores", q, k, false, true)});
    attention.Fetch(attention.Product("result", v, soft, false, true));
    const Ran apart = RunStep(attention, false), together = RunStep(attention, true);
    EXPECT_EQ(LaunchesWithProducts(attention.builder.graph(), *together.schedule), 1) << sizes.queries;
    EXPECT_LE(Difference(apart.fetches[0], together.fetches[0]), 1e-6) << sizes.queries;
  }
}

}  // namespace
}  // namespace lanescope::exec::test
