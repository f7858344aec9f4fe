// SPDX-License-Identifier: Apache-2.0
// Law: any launch with products gives what its nodes give one by one, within rounding, whatever the number of
// threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "core/schedule/row_products.h"
#include "tests/exec/session_harness.h"
#include "tests/support/random_attention.h"
#include "tests/support/sanitized.h"

namespace lanescope::exec::test {
namespace {

using lanescope::test::RandomAttention;

std::vector<Tensor> FetchesOf(const RandomAttention& random, bool fuse, int workers, int* with_products) {
  const Machine machine = FastMachine(1, workers);
  SessionOptions options;
  options.fuse = fuse;
  const Placement placement = PlaceAll(random.graph(), Gpu(machine, 0));
  Session session(random.graph(), placement, machine, options);
  const RunRequest request{random.feeds(), random.fetches(), {}};
  std::vector<Tensor> fetches = session.Run(request).fetches;
  for (const FusedLaunch& launch : session.Prepare(request).schedule->fused)
    *with_products += MatricesOfLaunch(random.graph(), launch.nodes).has_value();
  return fetches;
}

// Each element within so much of the other, in parts of the largest.
template <typename T>
void ExpectWithin(const Tensor& a, const Tensor& b, double tolerance, const std::string& what) {
  double most = 1;
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    const auto x = static_cast<double>(a.data<T>()[i]);
    if (std::isfinite(x)) most = std::max(most, std::abs(x));
  }
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    const auto x = static_cast<double>(a.data<T>()[i]), y = static_cast<double>(b.data<T>()[i]);
    ASSERT_TRUE((std::isnan(x) && std::isnan(y)) || x == y || std::abs(x - y) <= tolerance * most)
        << what << ", element " << i << ": " << x << " and " << y;
  }
}

// `LANESCOPE_SEEDS=from-to` takes others.
TEST(RandomAttention, IsTheSameWithFusion) {
  unsigned from = 0, to = 120;
  if (const char* seeds = std::getenv("LANESCOPE_SEEDS"); seeds != nullptr) {
    ASSERT_EQ(std::sscanf(seeds, "%u-%u", &from, &to), 2);
  }
  int cases = 0, with_products = 0, without = 0;
  for (unsigned seed = from; seed < to; seed += lanescope::test::kOneCaseOf) {
    ++cases;
    const DataType dtype = seed % 2 == 0 ? DataType::kFloat : DataType::kDouble;
    const RandomAttention random(seed, dtype, seed % 5 == 0 ? 400 : 40);
    const auto apart = FetchesOf(random, false, 1, &without);
    const auto together = FetchesOf(random, true, 1, &with_products);
    const auto shared = FetchesOf(random, true, 2, &with_products);
    for (size_t i = 0; i < apart.size(); ++i) {
      const std::string what = "seed " + std::to_string(seed) + ", " + random.fetches()[i];
      if (dtype == DataType::kFloat) ExpectWithin<float>(apart[i], together[i], 1e-4, what);
      if (dtype == DataType::kDouble) ExpectWithin<double>(apart[i], together[i], 1e-12, what);
      EXPECT_TRUE(BitwiseEqual(together[i], shared[i])) << what;
    }
  }
  EXPECT_EQ(without, 0);
  EXPECT_GT(with_products, cases);
}

}  // namespace
}  // namespace lanescope::exec::test
